#pragma once
#include <gradual/core/cpu/simd.hpp>
#include <gradual/core/error.hpp>

namespace gradual {

namespace detail {

/// What results show of the flags of the source that includes this, and of the processor's mode; null: nothing wrong.
[[gnu::noinline]] static const char* wrong_numerics() {
  volatile float a = 1.0f + 0x1p-12f, minus_square = -(1.0f + 0x1p-11f), tiny = 0x1p-126f, half = 0.5f, large = 0x1p30f,
                 five = 5.0f, minus_zero = -0.0f;
  const float x = a, y = minus_square, z = large, zero = minus_zero;
  if (x * x + y != 0.0f) return "the compiler contracts a*b+c to one rounding: add -ffp-contract=off";
  if ((z + x) - z == x) return "the compiler reorders sums: remove -fassociative-math, -funsafe-math-optimizations";
  if (five / 3.0f != 0x1.aaaaaap+0f) return "the compiler divides by reciprocals: remove -freciprocal-math";
  if (1.0f / (zero + 0.0f) < 0.0f) return "the compiler takes -0 for +0: remove -fno-signed-zeros";
  if (tiny * half == 0.0f) return "subnormal numbers are flushed to zero: remove -ffast-math from what is linked";
  return nullptr;
}

/// What is wrong in any source of the program, for all of them: the linker keeps one copy of an inline function, which may come
/// from a source with wrong flags.
inline const char* wrong_numerics_somewhere = nullptr;
inline int vector_bytes_elsewhere = 0;  ///< 0: no other source has been looked at
[[maybe_unused]] static const bool looked_for_wrong_numerics = [] {
  constexpr int vector_bytes = sizeof(cpu::Vec<float>);
  if (vector_bytes_elsewhere != 0 && vector_bytes_elsewhere != vector_bytes)
    wrong_numerics_somewhere = "sources of the program are compiled for vectors of different widths, and it has one copy of what "
                               "they share: give all of them the same -march";
  if (const char* const wrong = wrong_numerics()) wrong_numerics_somewhere = wrong;
  vector_bytes_elsewhere = vector_bytes;
  return true;
}();

}  // namespace detail

/// Finds compiler flags and processor modes under which results would not be reproducible.
/// Errors: NumericsError naming the flag to add or remove.
inline void check_numerics() {
  const char* wrong = detail::wrong_numerics_somewhere;
  if (wrong == nullptr) wrong = detail::wrong_numerics();
  if (wrong != nullptr) throw NumericsError(std::string("gradual: ") + wrong);
}

}  // namespace gradual
