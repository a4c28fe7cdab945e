# Sourced by the other tools: answers --help, goes to the project's root and installs what is missing (Debian packages).
if [[ " $* " == *" --help "* ]]; then
  sed -n '2,/^[^#]/s/^# \?//p' "$0"
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Compilers that run at once: one per core, but at most one per 4.5 GiB of memory. The largest sources of tests take 5.
jobs=$(awk -v cores="$(nproc)" '/^MemTotal/ { most = int($2 / 4.5 / 2^20); print most < 1 ? 1 : most < cores ? most : cores }' /proc/meminfo)
readonly jobs

# has package: whether it is there, however it was installed.
has() {
  case "$1" in
    g++) command -v g++ ;;
    cmake) command -v cmake ;;
    ninja-build) command -v ninja ;;
    python3) command -v python3 ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ ;;
    qemu-user) command -v qemu-aarch64 ;;
    g++-mingw-w64-x86-64-posix) command -v x86_64-w64-mingw32-g++-posix ;;
    wine) command -v wine ;;
    libgtest-dev) has_header gtest/gtest.h ;;
    libbenchmark-dev) has_header benchmark/benchmark.h ;;
    rapidjson-dev) has_header rapidjson/document.h ;;
    libopenblas-dev) has_library openblas ;;
    libtorch-dev) has_header torch/csrc/api/include/torch/torch.h ;;
    *) false ;;
  esac >/dev/null
}

has_header() { printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" | g++ -E -x c++ - &>/dev/null; }

has_library() { g++ -x c++ - "-l$1" -o /dev/null <<< 'int main() {}' &>/dev/null; }

# setup package...: installs the missing ones, as root or through sudo.
setup() {
  local package missing=()
  for package in "$@"; do
    has "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  if ! command -v apt-get >/dev/null || { ((EUID != 0)) && ! command -v sudo >/dev/null; }; then
    echo "Missing: ${missing[*]} (names of Debian packages). Install them and run this again." >&2
    exit 1
  fi
  echo "Installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
