#pragma once

#include <gradual/core/math/exp.hpp>
#include <gradual/core/math/log1p.hpp>

namespace gradual::math {

/// Returns log(1 + e^x) = max(x, 0) + log1p(e^-|x|). Error at most 1.7 ULP.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T softplus(T x) {
  return select(x > 0, x, T(0)) + log1p(exp(-abs(x)));
}

}  // namespace gradual::math
