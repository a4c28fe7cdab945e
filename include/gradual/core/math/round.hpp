#pragma once
#include <gradual/core/math/bits.hpp>

namespace gradual::math {

/// Rounds x to the nearest integer, ties to even, with the sign of x; infinities and NaN are unchanged.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T round(T x) {
  constexpr T integers = power_of_two<T>(FloatFormat<T>::mantissa_bits);  // from here on every number is one
  const T magnitude = abs(x);
  return select(magnitude < integers, copysign((magnitude + integers) - integers, x), x);
}

}  // namespace gradual::math
