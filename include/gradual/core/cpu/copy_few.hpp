#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual::cpu {

/// Copies at most `Most` elements, a power of two: the first and the last half of them, which may overlap.
template <int Most, class T>
GRADUAL_INLINE void copy_few(const T* from, std::int64_t count, T* to) {
  constexpr int half = Most > 1 ? Most / 2 : 1;
  if (count >= half) {
    __builtin_memcpy(to, from, half * sizeof(T));
    __builtin_memcpy(to + count - half, from + count - half, half * sizeof(T));
  } else if constexpr (half > 1) {
    copy_few<half>(from, count, to);
  }
}

}  // namespace gradual::cpu
