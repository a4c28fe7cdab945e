#pragma once
// The only way to a fused multiply-add; contraction by the compiler is off.

#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/soft_float.hpp>

namespace gradual::math {

/// Returns a * b + c with one rounding, the same bits in constant evaluation, on the processor and on the device.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T fma(T a, T b, T c) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (__builtin_is_constant_evaluated()) return soft::fma(a, b, c);
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float>) return __fmaf_rn(a, b, c);
  else return __fma_rn(a, b, c);
#else
  if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
#endif
}

}  // namespace gradual::math
