#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// Returns e^x - 1 without cancellation near 0. Error at most 1.5 ULP (float), 1.9 ULP (double); keeps -0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T expm1(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T tiny = single ? T(0x1p-24) : T(0x1p-53);
  const auto [n, r] = detail::reduce_exp(detail::clamp(x, T(single ? -18 : -38), T(single ? 89 : 710)));
  const T p = detail::expm1_of_remainder(r);
  const T half_scale = power_of_two<T>(n - 1);  // half, because 2^n itself may be beyond the largest number
  return select(abs(x) < tiny, x, mul(T(2), fma(half_scale, p, half_scale - T(0.5))));
}

}  // namespace gradual::math
