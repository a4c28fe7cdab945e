#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// The hyperbolic tangent, with E = e^2|x|: (E - 1) / (E + 1) below 1/2, 1 - 2 / (E + 1) above, and the sign of x.
/// Error at most @ULP@; keeps -0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T tanh(T x) {
  const T magnitude = abs(x);
  constexpr T saturated = std::is_same_v<T, float> ? T(10) : T(20);
  const auto [n, r] = detail::reduce_exp(mul(T(2), select(magnitude > saturated, saturated, magnitude)));
  const T p = detail::expm1_of_remainder(r), power = power_of_two<T>(n);
  const bool large = magnitude > T(0.55);
  const T quotient = div(select(large, T(2), fma(power, p, power - 1)), fma(power, p, power + 1));
  return copysign(select(large, 1 - quotient, quotient), x);
}

}  // namespace gradual::math
