#pragma once
#include <gradual/core/math/round.hpp>

namespace gradual::math {

/// Returns the largest integer not above x; −0, infinities and NaN are unchanged.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T floor(T x) {
  const T nearest = round(x);
  return nearest - one_where<T>(nearest > x);
}

}  // namespace gradual::math
