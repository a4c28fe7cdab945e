#pragma once

#include <gradual/core/math/log_reduction.hpp>

namespace gradual::math {

/// Returns the natural logarithm. Error at most 1 ULP, subnormal arguments included. log(0) = -inf, below zero NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log(T x) {
  const T finite = detail::log_of(detail::reduce_log(x));
  const T special = select(x == 0, -infinity<T>(), select(x < 0, quiet_nan<T>(), x));
  return select((x > 0) & (x < infinity<T>()), finite, special);
}

}  // namespace gradual::math
