#pragma once
#include <gradual/core/math/exp.hpp>

namespace gradual::math {

/// 1/(1 + e⁻ˣ) within 4 ULP.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sigmoid(T x) {
  const T e = exp(-abs(x));
  return select(x < T(0), e, T(1)) / (T(1) + e);
}

}  // namespace gradual::math
