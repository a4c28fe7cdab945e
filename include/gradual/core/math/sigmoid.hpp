#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// Returns 1 / (1 + e^-x) from its value at -|x|, so that neither side overflows. Error at most 2 ULP, subnormals included.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sigmoid(T x) {
  const T magnitude = abs(x);
  constexpr T vanished = std::is_same_v<T, float> ? T(104) : T(746);
  const auto [n, r] = detail::reduce_exp(select(magnitude > vanished, vanished, magnitude));
  // 1 / (1 + 2^n (1 + p)) = 2^-n / (1 + (2^-n + p)): the inner sum is small, so that its rounding hardly matters.
  const BitsOf<T> down = BitsOf<T>{0} - n;
  const T lower = detail::scale(div(T(1), 1 + (detail::scale(T(1), down) + detail::expm1_of_remainder(r))), down);
  return select(x < 0, lower, 1 - lower);
}

}  // namespace gradual::math
