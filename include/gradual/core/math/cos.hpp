#pragma once

#include <gradual/core/math/trigonometric_reduction.hpp>

namespace gradual::math {

/// Returns the cosine. Error at most 0.51 ULP for float up to 2^50, 1 ULP for double up to 2^30; NaN beyond.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T cos(T x) { return detail::sin_of_turned(x, 1); }

}  // namespace gradual::math
