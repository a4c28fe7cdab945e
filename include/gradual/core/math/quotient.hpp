#pragma once
// Division where b is known to be a positive normal number: processors have one slow divider, but many multipliers.

#include <gradual/core/math/fma.hpp>

namespace gradual::math {

/// Returns 1 / b with a relative error of e³, from an approximation y with a relative error e.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T refined_reciprocal(T y, T b) {
  const T e = fma(-b, y, T(1));
  return fma(y, fma(e, e, e), y);
}

/// Returns a / b for b from 2^-126 to 2^126: with the bits of a / b if quotient and remainder are normal numbers too, else at
/// most 1 ULP off. An a that is not finite gives NaN. Uses Newton's iteration of third order and Markstein's correction (IBM
/// Journal of Research and Development 34, 1990).
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T quotient(T a, T b) {
  constexpr auto magic = static_cast<BitsOf<T>>(sizeof(T) == 4 ? 0x7ef311c3u : 0x7fde623822fc16e6u);
  T y = from_bits<T>(magic - to_bits(b));  // 1 / b with a relative error of at most 0.0506
  y = refined_reciprocal(refined_reciprocal(y, b), b);
  if constexpr (sizeof(T) == 8) y = refined_reciprocal(y, b);
  const T q = a * y;
  return fma(fma(-q, b, a), y, q);
}

}  // namespace gradual::math
