#pragma once
#include <gradual/core/math/trigonometric.hpp>

namespace gradual::math {

/// cos x for |x| up to about 10⁵; beyond, accuracy is lost.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T cos(T x) {
  return sine_of_quarter(x, 1);
}

}  // namespace gradual::math
