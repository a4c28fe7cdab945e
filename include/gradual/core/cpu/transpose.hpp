#pragma once
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

namespace detail {

/// Returns the lanes that `lane` numbers among those of x, followed by those of y.
template <auto lane, class T>
GRADUAL_INLINE Vec<T> choose(Vec<T> x, Vec<T> y) {
  if constexpr (Vec<T>::width == 2) return {__builtin_shufflevector(x.v, y.v, lane(0), lane(1))};
  else if constexpr (Vec<T>::width == 4) return {__builtin_shufflevector(x.v, y.v, lane(0), lane(1), lane(2), lane(3))};
  else if constexpr (Vec<T>::width == 8)
    return {__builtin_shufflevector(x.v, y.v, lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7))};
  else
    return {__builtin_shufflevector(x.v, y.v, lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7), lane(8),
                                    lane(9), lane(10), lane(11), lane(12), lane(13), lane(14), lane(15))};
}

/// Replaces all pairs of registers `Apart` apart by the lanes that `lane(place, 0)` and `lane(place, 1)` choose from both.
template <int Apart, auto lane, class T, int Width>
GRADUAL_INLINE void shuffle_pairs(Vec<T> (&r)[Width]) {
  GRADUAL_UNROLL(16)
  for (int i = 0; i < Width; ++i) {
    if (i & Apart) continue;
    const Vec<T> x = r[i], y = r[i + Apart];
    r[i] = choose<[](int l) { return lane(l, 0); }>(x, y);
    r[i + Apart] = choose<[](int l) { return lane(l, 1); }>(x, y);
  }
}

}  // namespace detail

/// Transposes a square of registers.
template <class T, int Width>
GRADUAL_INLINE void transpose(Vec<T> (&r)[Width]) {
  constexpr int n = 16 / sizeof(T);  // lanes of a quarter: 16 bytes, within which processors can interleave
  constexpr auto interleaved = [](int l, int half) { return l % 2 * Width + l / n * n + l % n / 2 + half * n / 2; };
  constexpr auto quarters = [](int l, int odd) { return l + l / n * n + odd * n; };
  if constexpr (Width >= 4 && n == 4) detail::shuffle_pairs<2, interleaved>(r);
  if constexpr (Width >= 2) detail::shuffle_pairs<1, interleaved>(r);
  if constexpr (Width >= 2 * n) detail::shuffle_pairs<n, quarters>(r);
  if constexpr (Width >= 4 * n) detail::shuffle_pairs<2 * n, quarters>(r);
}

}  // namespace gradual::cpu
