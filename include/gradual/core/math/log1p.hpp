#pragma once

#include <gradual/core/math/log_reduction.hpp>

namespace gradual::math {

/// Returns log(1 + x) without cancellation near 0. Error at most 1 ULP; keeps -0. log1p(-1) = -inf, below NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log1p(T x) {
  const bool inside = (x > -1) & (x < infinity<T>());
  const T a = select(inside, x, T(1));
  const T u = 1 + a, rounded = u - 1;
  const T lost = (1 - (u - rounded)) + (a - rounded);  // 1 + a = u + lost exactly
  const auto [f, k] = detail::reduce_log(u);
  const T tail = detail::log_tail(f) + div(lost, u);
  const T finite = fma(k, detail::ln2_high<T>, f + fma(k, detail::ln2_low<T>, tail));
  const T special = select(x == -1, -infinity<T>(), select(x < -1, quiet_nan<T>(), x));
  return select(inside & (x != 0), finite, special);
}

}  // namespace gradual::math
