#pragma once
#include <gradual/core/math/bits.hpp>

namespace gradual::math {

namespace detail {
/// Rounds a number that is not negative to the nearest integer.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T round_magnitude(T x) {
  constexpr T whole = power_of_two<T>(FloatFormat<T>::mantissa_bits);  // from here on every number is an integer
  return select(x < whole, (x + whole) - whole, x);
}
}  // namespace detail

/// Rounds x to the nearest integer, ties to even, with the sign of x; infinities and NaN are unchanged.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T round(T x) {
  return copysign(detail::round_magnitude(abs(x)), x);
}

}  // namespace gradual::math
