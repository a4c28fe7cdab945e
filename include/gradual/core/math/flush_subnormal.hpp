#pragma once
#include <gradual/core/math/bits.hpp>

namespace gradual::math {

/// Returns x, or +0 if x is ±0 or subnormal.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T flush_subnormal(T x) {
  return select((to_bits(x) & infinity_bits<T>) != 0, x, T(0));
}

}  // namespace gradual::math
