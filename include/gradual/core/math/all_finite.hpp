#pragma once
#include <algorithm>
#include <span>

#include <gradual/core/math/bits.hpp>

namespace gradual::math {

template <class T> GRADUAL_HD GRADUAL_INLINE constexpr bool is_finite(T x) {
  return (to_bits(x) & infinity_bits<T>) != infinity_bits<T>;
}

/// Whether no value is infinite or NaN.
template <class T> [[gnu::noinline, gnu::hot]] bool all_finite(std::span<const T> values) {
  BitsOf<T> largest = 0;  // without an early exit, and not inside what looks rare to a compiler: the loop is vectorised
  for (T x : values) largest = std::max(largest, to_bits(abs(x)));
  return largest < infinity_bits<T>;
}

}  // namespace gradual::math
