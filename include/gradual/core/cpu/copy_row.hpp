#pragma once
#include <algorithm>
#include <type_traits>

#include <gradual/core/cpu/copy_few.hpp>
#include <gradual/core/cpu/simd.hpp>
#include <gradual/core/dtype.hpp>

namespace gradual::cpu {

/// Copies a row that may be too short to be worth a function call.
template <class T>
GRADUAL_INLINE void copy_row(const T* from, std::int64_t count, T* to) {
  constexpr std::int64_t width = Vec<T>::width;
  const std::int64_t whole = count / width * width;
  for (std::int64_t i = 0; i < whole; i += width) Vec<T>::load(from + i).store(to + i);
  if (whole == count) return;
  if (whole > 0) Vec<T>::load(from + count - width).store(to + count - width);
  else if (Vec<T>::stores_parts) Vec<T>::load(from, count).store(to, count);
  else copy_few<width>(from, count, to);
}
template <class E>
  requires(is_small_float<E> || std::is_integral_v<E>)
GRADUAL_INLINE void copy_row(const E* from, std::int64_t count, E* to) {
  std::copy_n(from, count, to);
}

/// Does the same from 16 bits to floats, and back with rounding.
template <class E>
  requires is_small_float<E>
GRADUAL_INLINE void copy_row(const E* from, std::int64_t count, float* to) {
  GRADUAL_IVDEP
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
template <class E>
  requires is_small_float<E>
GRADUAL_INLINE void copy_row(const float* from, std::int64_t count, E* to) {
  GRADUAL_IVDEP
  for (std::int64_t i = 0; i < count; ++i) to[i] = E(from[i]);
}

}  // namespace gradual::cpu
