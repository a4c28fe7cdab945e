#pragma once

#include <gradual/core/math/trigonometric_reduction.hpp>

namespace gradual::math {

/// Returns the sine. Error at most 0.51 ULP for float up to 2^50, 1 ULP for double up to 2^30; NaN beyond. Keeps -0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sin(T x) {
  return select(x == 0, x, detail::sin_of_turned(x, 0));
}

}  // namespace gradual::math
