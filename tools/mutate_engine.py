"""Changes lines of the engine that tests/engine_mutants.txt lists, one at a time, and says which changes the tests notice.

Each change is compiled by itself: a scratch header shadows the real one in the tests that its file's heading names, until
one of them fails. A change that does not compile counts as noticed: most of the engine runs in the compiler.
"""
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/engine_mutants.txt"
LEAST = 5
SECONDS = 120  # a run that takes longer counts as noticing
COMPILE_SECONDS = 600
COMPILE = ["g++", "-std=c++20", "-O0", "--param=ggc-min-heapsize=4000000",  # half the time of -O1
           "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w"]
MISTYPED = re.compile(r"error: (expected [^c]|.* was not declared|.* does not name|.* has no member)")

File = collections.namedtuple("File", "path tests mutants")
Mutant = collections.namedtuple("Mutant", "line reason text")


def changed(line, text, path, wrong):
    """Returns the header's text with the change `[before -> after]` made in a line that must occur in it once."""
    arrow = line.find(" -> ")
    depth, begin = 0, arrow
    while begin > 0 and (depth > 0 or line[begin] != "["):
        depth += (line[begin] == "]") - (line[begin] == "[")
        begin -= 1
    depth, end = 0, arrow
    while end < len(line) and (depth > 0 or line[end] != "]"):
        depth += (line[end] == "[") - (line[end] == "]")
        end += 1
    if arrow < 0 or line[begin] != "[" or end == len(line):
        sys.exit(f"{LIST.name}: no change stands in '{line}'")
    prefix, before, after, suffix = line[:begin], line[begin + 1:arrow], line[arrow + 4:end], line[end + 1:]
    pattern = r"\s*".join(re.escape(c) for c in "".join((prefix + before + suffix).split()))
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        wrong.append(f"{path} has {len(found)} places like '{prefix + before + suffix}'")
        return ""
    return text[:found[0].start()] + f"{prefix} {after} {suffix}" + text[found[0].end():]


def read_list():
    files, wrong = [], []
    for raw in LIST.read_text().splitlines():
        line = raw.rstrip()
        heading = re.match(r"== (\S+): (.+)$", line)
        if heading:
            files.append(File(heading[1], heading[2].split(), []))
        elif line.startswith("  "):
            mutants = files[-1].mutants
            mutants[-1] = mutants[-1]._replace(reason=line.strip())
        elif line and not line.startswith("#"):
            text = (ROOT / "include/gradual" / files[-1].path).read_text()
            files[-1].mutants.append(Mutant(line, "", changed(line, text, files[-1].path, wrong)))
    if wrong:
        sys.exit("\n".join([f"{LIST.name}:", *wrong]))
    return files


def notices(test, overlay, place):
    """Returns how a test notices what `overlay` changes: 'test', 'compiler', 'mistyped: <errors>', or ''."""
    program = place / "program"
    command = [*COMPILE, "-I", str(overlay), "-I", str(ROOT / "include"), "-I", str(ROOT / "tests"),
               str(ROOT / f"tests/{test}_test.cpp"), "-o", str(program), "-lgtest", "-lgtest_main", "-lpthread"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        if done.returncode != 0:
            return "mistyped: " + done.stderr[:2000] if MISTYPED.search(done.stderr) else "compiler"
        environment = {**os.environ, "GTEST_FAIL_FAST": "1", "GRADUAL_SEED": "1"}
        done = subprocess.run([str(program)], env=environment, cwd=place, capture_output=True, timeout=SECONDS)
        return "test" if done.returncode != 0 else ""
    except subprocess.TimeoutExpired:
        return "test"


def killer(file, text):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        header = place / "include/gradual" / file.path
        header.parent.mkdir(parents=True)
        header.write_text(text)
        for test in file.tests:
            how = notices(test, place / "include", place)
            if how:
                return test, how
    return "", ""


def run(only, list_only, jobs):
    files = [f for f in read_list() if not only or any(word in f.path for word in only.split(","))]
    if not files:
        sys.exit(f"tools/mutate: no file of the engine is called {only}")
    if list_only:
        print("\n".join(f"{f.path}: {m.line}" for f in files for m in f.mutants))
        return 0
    status, killed, count, noticed = 0, 0, 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for test in sorted({t for f in files for t in f.tests}):
            with tempfile.TemporaryDirectory() as folder:
                if notices(test, pathlib.Path(folder), pathlib.Path(folder)):
                    sys.exit(f"tools/mutate: {test} fails without any change")
        for file in files:
            found = list(pool.map(lambda m: killer(file, m.text), file.mutants))
            by = collections.Counter("the compiler" if how == "compiler" else test for test, how in found if how)
            survived = [m for m, (_, how) in zip(file.mutants, found) if not how]
            print(f"{file.path}: {len(file.mutants)} changes, {len(file.mutants) - len(survived)} noticed, "
                  f"{sum(m.reason != '' for m in survived)} equivalent ("
                  + ", ".join(f"{test}: {n}" for test, n in sorted(by.items())) + ")", flush=True)
            for mutant, (_, how) in zip(file.mutants, found):
                wrong = ("survived" if not how and not mutant.reason else
                         "listed as equivalent, but noticed" if how and mutant.reason else
                         how if how.startswith("mistyped") else "")
                if wrong:
                    print(f"  {wrong}: {mutant.line}", flush=True)
                    status = 1
            noticed[pathlib.Path(file.path).with_suffix("")] += len(file.mutants) - len(survived)  # of a header and its bodies
            count += len(file.mutants)
            killed += len(file.mutants) - len(survived)
    for path in (path for path, changes in noticed.items() if changes < LEAST):
        print(f"{path}: too few changes are noticed")
        status = 1
    print(f"{len({f.path for f in files})} files of the engine, {count} changes: {killed} killed, {count - killed} not")
    return status
