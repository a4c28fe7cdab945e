#pragma once
// Products and quotients whose bits no device compiler flag can change by contraction or approximation.

#include <gradual/core/math/bits.hpp>

namespace gradual::math {

/// Returns a * b, rounded and never fused into a sum that uses it.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T mul(T a, T b) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    if constexpr (std::is_same_v<T, float>) return __fmul_rn(a, b);
    else return __dmul_rn(a, b);
  }
#endif
  return a * b;
}

/// Returns a / b, correctly rounded.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T div(T a, T b) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    if constexpr (std::is_same_v<T, float>) return __fdiv_rn(a, b);
    else return __ddiv_rn(a, b);
  }
#endif
  return a / b;
}

}  // namespace gradual::math
