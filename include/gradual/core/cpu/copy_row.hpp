#pragma once
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

/// to[i] = from[i], for rows too short to call a function for.
template <class T>
GRADUAL_INLINE void copy_row(const T* from, std::int64_t count, T* to) {
  constexpr std::int64_t width = Vec<T>::width;
  for (; count >= width; count -= width, from += width, to += width) Vec<T>::load(from).store(to);
  Vec<T>::load(from, count).store(to, count);
}

}  // namespace gradual::cpu
