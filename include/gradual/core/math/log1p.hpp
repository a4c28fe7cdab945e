#pragma once
#include <gradual/core/math/log.hpp>

namespace gradual::math {

/// log(1 + x) within 3 ULP, also near 0: the logarithm of the rounded sum, corrected by what rounding lost.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log1p(T x) {
  const T u = T(1) + x;
  const bool finite = (u > T(0)) & (u < infinity<T>());
  const T safe = select(finite, u, T(1));
  const T lost = select(finite, x, T(0)) - (safe - T(1));
  return select(finite & (u != T(1)), log(safe) + lost / safe, select(finite, x, log(u)));
}

}  // namespace gradual::math
