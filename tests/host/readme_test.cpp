// The README and the guides against the headers and tests: what they name exists, what exists is named, and every line of
// their code is compiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gradual/autodiff/ops.hpp>
#include <gradual/files/read_file.hpp>

namespace readme_test {

using namespace gradual;

const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../..";

std::set<std::string> all_matches(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

std::string headers_of(const char* folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(root / "include/gradual" / folder))
    text += read_file(entry.path().string());
  return text;
}

/// Returns the names in code quotes in the README's rows whose first cell begins with `title`; in all rows for "".
std::set<std::string> named(const std::string& title) {
  const std::string readme = read_file((root / "README.md").string());
  const std::size_t begin = readme.find("## Ops and layers"),
                    end = readme.find("\n\n", readme.find("|---|---|", begin));
  std::set<std::string> words;
  for (const std::string& row : all_matches(readme.substr(begin, end - begin), "(\\| [^\n]*)"))
    if (row.starts_with("| " + title)) words.merge(all_matches(row, "`([A-Za-z_0-9]+)`"));
  return words;
}

TEST(Readme, NamesOpsThatThereAre) {
  std::set<std::string> there =
      all_matches(headers_of("autodiff/ops") + read_file((root / "include/gradual/autodiff/tap.hpp").string()) +
                      read_file((root / "include/gradual/autodiff/gradients.hpp").string()) +
                      read_file((root / "include/gradual/autodiff/with_vjp.hpp").string()),
                  "constexpr [A-Za-z:<>, ]+ ([a-z_0-9]+)\\(");
  std::set<std::string> words = named("");
  for (const std::string& layer : named("layers")) words.erase(layer);
  EXPECT_GT(words.size(), 50u);
  const std::string guide = read_file((root / "docs/guides/write-a-model.md").string());
  for (const std::string& word : words) {
    EXPECT_TRUE(word == "nn" || there.contains(word)) << word;
    EXPECT_NE(guide.find(word), std::string::npos) << word << " has no call in the guide to writing models";
  }
}

TEST(Readme, NamesEveryOp) {
  const std::set<std::string> words = named("");
  const std::set<std::string> by_sign = {"add",    "subtract", "multiply", "divide",
                                         "negate", "equal",    "less",     "less_equal"},
                              inside_rules = {"strong_divide", "strong_mul", "quotient", "flush_subnormal", "from_integer"};
  const auto expect = [&]<class... Op>(OpList<Op...>) {
    for (const std::string name : {Op::name...})
      EXPECT_TRUE(words.contains(name) || by_sign.contains(name) || inside_rules.contains(name)) << name;
  };
  expect(MapOps{});
  expect(RowOps{});
  expect(OpList<Broadcast, Conv2d, Gather, Iota, Matmul, MaxPool2d, Pad, Reshape, ScatterAdd, Slice, Transpose>{});
}

TEST(Headers, HaveNoOpThatIsNotInTheList) {  // the list that tests sweep
  const std::set<std::string> there = all_matches(headers_of("autodiff/ops"), "char\\* name = \"([a-z_0-9]+)\"");
  EXPECT_EQ(static_cast<int>(there.size()), EveryOp::size);
  for (const OpInfo* op : EveryOp::info) EXPECT_TRUE(there.contains(op->name)) << op->name;
}

TEST(Readme, NamesTheLayers) {
  std::set<std::string> there = all_matches(headers_of("nn"), "\n(?:class|struct|using) ([A-Za-z0-9]+) (?:\\{|=)");
  for (const char* part : {"AttentionOptions", "Kernels", "LayerOptions", "Unchanged"}) there.erase(part);  // what layers have in common
  const std::set<std::string> words = named("layers");
  EXPECT_GT(there.size(), 10u);
  for (const std::string& layer : there) EXPECT_TRUE(words.contains(layer)) << layer;
  for (const std::string& word : words) EXPECT_TRUE(word == "nn" || there.contains(word)) << word;
}

/// Returns the text of all files under a folder with these endings.
std::string files_under(const char* folder, std::initializer_list<const char*> endings) {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder))
    for (const char* ending : endings)
      if (entry.path().extension() == ending) text += read_file(entry.path().string());
  return text;
}

/// Returns a line without its comment and without whitespace.
std::string bare(const std::string& line) {
  std::string result;
  for (std::size_t i = 0; i < line.size() && !line.substr(i).starts_with("//"); ++i)
    if (std::isspace(static_cast<unsigned char>(line[i])) == 0) result += line[i];
  return result;
}

TEST(Documents, HaveOnlyCodeThatIsCompiled) {
  std::string compiled;
  std::istringstream sources(files_under("tests", {".cpp", ".hpp"}) + files_under("examples", {".cpp", ".hpp", ".cu"}));
  for (std::string line; std::getline(sources, line);) compiled += bare(line);
  int lines = 0;
  for (const std::string& document : {read_file((root / "README.md").string()), files_under("docs/guides", {".md"})}) {
    bool code = false;
    std::istringstream text(document);
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("```")) {
        code = line == "```cpp";
      } else if (code) {
        ++lines;
        EXPECT_NE(compiled.find(bare(line)), std::string::npos) << line;
      }
    }
  }
  EXPECT_GT(lines, 200);
}

/// Returns the members of a struct of options, in order.
std::vector<std::string> members_of(const std::string& name) {
  const std::string text = headers_of("train");
  const std::size_t begin = text.find("struct " + name + " {"), end = text.find("\n};", begin);
  std::istringstream lines(text.substr(begin, end - begin));
  std::vector<std::string> members;
  const std::regex member("([a-z_]+) = ");
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("///"));
    for (std::sregex_iterator i(line.begin(), line.end(), member), last; i != last; ++i) members.push_back((*i)[1]);
  }
  return members;
}

/// Returns the names in the first column of the first table after `title` in a guide.
std::vector<std::string> rows_after(const std::string& guide, const std::string& title) {
  const std::string text = read_file((root / "docs/guides" / guide).string());
  std::istringstream lines(text.substr(text.find("|---|", text.find(title))));
  std::vector<std::string> names;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("| `");)
    names.push_back(line.substr(3, line.find('`', 3) - 3));
  return names;
}

TEST(Guides, ListEveryOptionInItsOrder) {
  EXPECT_EQ(rows_after("train.md", "`TrainerOptions`"), members_of("TrainerOptions"));
  EXPECT_EQ(rows_after("train.md", "`FitOptions`"), members_of("FitOptions"));
  EXPECT_EQ(rows_after("train.md", "`SessionOptions`"), members_of("SessionOptions"));
  EXPECT_GE(members_of("FitOptions").size(), 9u);
}

/// Returns the options that a struct of these headers declares before its state, without types and number suffixes:
/// "rate = 1" for `Scalar rate = 1.0f;`.
std::string options_of(const std::string& headers, const std::string& name) {
  const std::size_t begin = headers.find("struct " + name + " {");
  const std::size_t end = std::min({headers.find("struct State", begin), headers.find("using State", begin),
                                    headers.find("\n};", begin)});
  std::string options;
  for (std::string body = headers.substr(begin, end - begin);;) {
    static const std::regex member("\n  (?:Scalar|bool|double|std::int64_t|AdamW|Others|ParameterNames|RateScaling) ([^;]*);");
    std::smatch found;
    if (!std::regex_search(body, found, member)) break;
    options += (options.empty() ? "" : ", ") + found[1].str();
    body = found.suffix();
  }
  options = std::regex_replace(options, std::regex("\\s+"), " ");
  return std::regex_replace(std::regex_replace(options, std::regex("([0-9])f\\b"), "$1"), std::regex("\\.0\\b"), "");
}

/// Returns the second column of the first table after `title` in a guide, keyed by the first column.
std::map<std::string, std::string> options_after(const std::string& guide, const std::string& title) {
  const std::string text = read_file((root / "docs/guides" / guide).string());
  std::istringstream lines(text.substr(text.find("|---|", text.find(title))));
  std::map<std::string, std::string> rows;
  std::string line;
  std::smatch cells;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("| `");)
    if (std::regex_search(line, cells, std::regex("^\\| `([A-Za-z]+)` \\| `([^`]*)` \\|"))) rows[cells[1]] = cells[2];
  return rows;
}

TEST(Guides, ListTheOptionsOfEveryOptimizer) {
  const std::string headers = headers_of("optim");
  const auto expect_all = [&](const char* title, const char* begins) {
    const std::map<std::string, std::string> rows = options_after("optimizers.md", title);
    const std::set<std::string> there = all_matches(headers, begins);
    EXPECT_EQ(rows.size(), there.size()) << title;
    EXPECT_GE(there.size(), 10u) << title;
    for (const std::string& name : there) {
      const auto row = rows.find(name.ends_with("Of") ? name.substr(0, name.size() - 2) : name);  // Lbfgs is an LbfgsOf
      ASSERT_NE(row, rows.end()) << name;
      EXPECT_EQ(row->second, options_of(headers, name == "LossScale" ? "LossScaling" : name)) << name;
    }
  };
  expect_all("## Rules", "\nstruct ([A-Za-z]+) \\{\n(?:  using[^\n]*\n)?(?:  static_assert[^\n]*\n)?  Scalar learning_rate = ");
  expect_all("## Adapters", "\nstruct ([A-Za-z]+) \\{\n(?:  using[^\n]*\n)?  Inner inner;");
}

}  // namespace readme_test
