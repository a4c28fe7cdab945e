#pragma once
#include <gradual/core/math/trigonometric.hpp>

namespace gradual::math {

/// sin x for |x| up to about 10⁵; beyond, accuracy is lost.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sin(T x) {
  return sine_of_quarter(x, 0);
}

}  // namespace gradual::math
