#pragma once
#include <gradual/core/math/exp.hpp>
#include <gradual/core/math/log1p.hpp>

namespace gradual::math {

/// log(1 + eˣ) without overflow: max(x, 0) + log(1 + e^(−|x|)).
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T softplus(T x) {
  return select(x > T(0), x, select(x == x, T(0), x)) + log1p(exp(-abs(x)));
}

}  // namespace gradual::math
