// What a target brings: these headers and RapidJSON's, a standard and a processor that they take, and flags that keep the bits.
#include <gradual/core/numerics_check.hpp>
#include <gradual/files/checkpoint.hpp>

int main() {
  gradual::check_numerics();
  try {
    static_cast<void>(gradual::load("no file"));
  } catch (const gradual::FileError&) {
    return 0;
  }
  return 1;
}
