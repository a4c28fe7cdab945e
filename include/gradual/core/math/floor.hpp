#pragma once
#include <gradual/core/math/round.hpp>

namespace gradual::math {

/// The largest integer that is not above x; −0, infinities and NaN stay.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T floor(T x) {
  const T nearest = round(x);
  return nearest - one_where<T>(nearest > x);
}

}  // namespace gradual::math
