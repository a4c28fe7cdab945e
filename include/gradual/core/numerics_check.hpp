#pragma once
#include <string>

#include <gradual/core/cpu/simd.hpp>
#include <gradual/core/error.hpp>

namespace gradual {

namespace detail {

/// Returns what is wrong with the compiler flags of the source that includes this, as results show; null: nothing.
[[gnu::noinline]] static const char* wrong_flags() {
  volatile float a = 1.0f + 0x1p-12f, minus_square = -(1.0f + 0x1p-11f), large = 0x1p30f, five = 5.0f, minus_zero = -0.0f;
  const float x = a, y = minus_square, z = large, zero = minus_zero;
  if (x * x + y != 0.0f) return "the compiler contracts a*b+c to one rounding: add -ffp-contract=off";
  if ((z + x) - z == x) return "the compiler reorders sums: remove -fassociative-math, -funsafe-math-optimizations";
  if (five / 3.0f != 0x1.aaaaaap+0f) return "the compiler divides by reciprocals: remove -freciprocal-math";
  if (__builtin_signbit(zero + 0.0f)) return "the compiler treats -0 as +0: remove -fno-signed-zeros";
  return nullptr;
}
/// Returns the same for the processor's mode, of which each thread has its own.
[[gnu::noinline]] static const char* wrong_mode() {
  volatile float tiny = 0x1p-126f, half = 0.5f, one = 1.0f, above = 0x1.8p-24f, below = 0x0.8p-24f;
  if (one + above == 1.0f || one + below != 1.0f)
    return "the processor does not round to nearest: call std::fesetround(FE_TONEAREST) in the thread that makes sessions and "
           "inferences";
  if (tiny * half != 0.0f) return nullptr;
  return "subnormal numbers are flushed to zero: remove -ffast-math from what is linked, or turn that mode (FTZ, DAZ) off in "
         "the thread that makes sessions and inferences";
}

#ifdef __clang__
inline constexpr int compiled_here = 2;
#else
inline constexpr int compiled_here = 1;
#endif

// What is wrong in any source of a program or shared object: the linker keeps one copy of what they share, which may have been
// compiled with other flags. Hidden, since the dynamic linker would keep one for all plug-ins of a process.
[[gnu::visibility("hidden")]] inline const char* wrong_somewhere = nullptr;
[[gnu::visibility("hidden")]] inline int vector_bytes_elsewhere = 0;  ///< 0: no other source has been checked
[[gnu::visibility("hidden")]] inline int compiled_elsewhere = 0;
[[maybe_unused]] static const bool looked_for_what_is_wrong = [] {
  constexpr int vector_bytes = sizeof(cpu::Vec<float>);
  if (vector_bytes_elsewhere != 0 && vector_bytes_elsewhere != vector_bytes)
    wrong_somewhere = "sources of the program are compiled for vectors of different widths, but share code: give all of them "
                      "the same -march";
  if (compiled_elsewhere != 0 && compiled_elsewhere != compiled_here)
    wrong_somewhere = "sources of the program are compiled by g++ and by clang, which lay out shared data differently: compile "
                      "all of them by one";
  if (const char* const wrong = wrong_flags()) wrong_somewhere = wrong;
  vector_bytes_elsewhere = vector_bytes;
  compiled_elsewhere = compiled_here;
  return true;
}();

}  // namespace detail

/// Checks for compiler flags and processor modes under which results would not be reproducible.
/// Errors: NumericsError naming what to change.
inline void check_numerics() {
  const char* wrong = detail::wrong_somewhere;
  if (wrong == nullptr) wrong = detail::wrong_mode();  // first: it would make flags seem wrong
  if (wrong == nullptr) wrong = detail::wrong_flags();
  if (wrong != nullptr) throw NumericsError(std::string("gradual: ") + wrong);
}

}  // namespace gradual
