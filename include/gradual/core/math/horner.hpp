#pragma once

#include <gradual/core/math/fma.hpp>

namespace gradual::math {

/// Returns c0 + x (c1 + x (c2 + …)): a polynomial, lowest coefficient first, as one chain of fused multiply-adds.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T horner(T, T c0) { return c0; }

template <class T, class... Rest> GRADUAL_HD GRADUAL_INLINE constexpr T horner(T x, T c0, Rest... rest) {
  return fma(x, horner(x, rest...), c0);
}

}  // namespace gradual::math
