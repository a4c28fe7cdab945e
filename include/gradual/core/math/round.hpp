#pragma once
#include <gradual/core/math/bits.hpp>

namespace gradual::math {

/// The nearest integer, of two the even one, with the sign of x; infinities and NaN stay.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T round(T x) {
  constexpr T integers = power_of_two<T>(FloatFormat<T>::mantissa_bits);  // from here on there are no others
  const T magnitude = abs(x);
  return select(magnitude < integers, copysign((magnitude + integers) - integers, x), x);
}

}  // namespace gradual::math
