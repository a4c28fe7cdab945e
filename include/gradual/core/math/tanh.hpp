#pragma once
#include <gradual/core/math/expm1.hpp>

namespace gradual::math {

/// Hyperbolic tangent within 3 ULP: −t/(t + 2) with t = e^(−2|x|) − 1.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T tanh(T x) {
  const T t = expm1(T(-2) * abs(x));
  return copysign(-t / (t + T(2)), x);
}

}  // namespace gradual::math
