#pragma once
#include <cstdio>
#include <cstdlib>

#include <gradual/core/error.hpp>

namespace fuzz {

/// Ends the program if a condition does not hold, so that the fuzzer keeps the bytes.
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Calls f(). Returns whether it threw a typed error; any other exception ends the program.
template <class F>
bool refuses(F f) {
  try {
    f();
    return false;
  } catch (const gradual::Error&) {
    return true;
  }
}

}  // namespace fuzz
