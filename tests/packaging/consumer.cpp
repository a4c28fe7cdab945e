// What a target provides: these headers and RapidJSON's, the standard and processor that they need, and flags that keep bits.
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
