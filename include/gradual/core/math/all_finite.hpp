#pragma once
#include <algorithm>
#include <span>

#include <gradual/core/math/bits.hpp>
#include <gradual/core/small_float.hpp>

namespace gradual::math {

template <class T>
GRADUAL_HD GRADUAL_INLINE constexpr bool is_finite(T x) {
  return (to_bits(x) & infinity_bits<T>) != infinity_bits<T>;
}

/// Whether no value is infinite or NaN.
template <class T>
[[gnu::noinline, gnu::hot]] bool all_finite(std::span<const T> values) {
  BitsOf<T> largest = 0;  // without an early exit, and in a function that is marked hot: so the loop is vectorised
  for (T x : values) largest = std::max(largest, to_bits(abs(x)));
  return largest < infinity_bits<T>;
}

template <int MantissaBits>
GRADUAL_HD GRADUAL_INLINE constexpr bool is_finite(SmallFloat<MantissaBits> x) {
  return is_finite(static_cast<float>(x));
}
template <int MantissaBits>
[[gnu::noinline, gnu::hot]] bool all_finite(std::span<const SmallFloat<MantissaBits>> values) {
  bool finite = true;
  for (const SmallFloat<MantissaBits> x : values) finite &= is_finite(x);
  return finite;
}

}  // namespace gradual::math
