#pragma once
#include <span>

#include <gradual/core/math/bits.hpp>

namespace gradual::math {

template <class T> GRADUAL_HD GRADUAL_INLINE constexpr bool is_finite(T x) {
  return (to_bits(x) & infinity_bits<T>) != infinity_bits<T>;
}

/// Whether no value is infinite or NaN.
template <class T> bool all_finite(std::span<const T> values) {
  BitsOf<T> found = 0;  // without an early exit, so that the loop is vectorised
  for (T x : values) found |= is_finite(x) ? 0 : 1;
  return found == 0;
}

}  // namespace gradual::math
