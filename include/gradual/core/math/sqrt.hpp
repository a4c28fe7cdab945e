#pragma once

#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/soft_float.hpp>

namespace gradual::math {

/// Returns the square root, correctly rounded (0.5 ULP); sqrt(-0) = -0, below zero NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sqrt(T x) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (__builtin_is_constant_evaluated()) return soft::sqrt(x);
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return __fsqrt_rn(x);
  else return __dsqrt_rn(x);
#else
  if constexpr (std::is_same_v<T, float>) return __builtin_sqrtf(x);
  else return __builtin_sqrt(x);
#endif
}

}  // namespace gradual::math
