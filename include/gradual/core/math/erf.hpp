#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// Returns the error function. Error at most 1.1 ULP (float), 1 ULP (double); keeps -0.
/// Below 1: x + x P(x²). Above: 1 - e^-G(|x| - 1), where G approximates -log(erfc). Both minimax.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T erf(T x) {
  const T magnitude = abs(x);
  T near, far;
  if constexpr (std::is_same_v<T, float>) {
    const T a = select(magnitude > 4, T(4), magnitude);
    near = horner(mul(a, a), 0x1.06eba8p-3f, -0x1.812746p-2f, 0x1.ce2f08p-4f, -0x1.b829a8p-6f, 0x1.5628eep-8f,
                     -0x1.bcbea6p-11f, 0x1.d826dcp-14f, -0x1.4384b6p-17f);
    far = horner(a - 1, 0x1.d97fcp0f, 0x1.51c9bp1f, 0x1.afabbap-1f, 0x1.547d16p-5f, -0x1.4934e2p-7f, 0x1.07bac4p-9f,
                     -0x1.2fa7bep-12f, 0x1.6c0588p-16f);
  } else {
    const T a = select(magnitude > 6, T(6), magnitude);
    near = horner(mul(a, a), 0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bddp-4, -0x1.b82ce3128899bp-6,
                     0x1.565bcd0e64abap-8, -0x1.c02db3fed8ffep-11, 0x1.f9a326bfb84dap-14, -0x1.f4d255e1618ddp-17,
                     0x1.b9e64d095f824p-20, -0x1.5f6d6b6219342p-23, 0x1.fc4117fe2d509p-27, -0x1.4e55d0ac7bc27p-30,
                     0x1.7ecc0c8e94cbap-34, -0x1.29292336a4dccp-38);
    far = horner(a - 1, 0x1.d97fbf27aa2a1p0, 0x1.51c9b0006c23dp1, 0x1.afabc11a28f44p-1, 0x1.5477f09ca853cp-5,
                     -0x1.48c9d40be48ecp-7, 0x1.033f69925f8fp-9, -0x1.f1b4bbdd07a6fp-13, -0x1.b8be298d042c6p-16,
                     0x1.c758ed78f6199p-16, -0x1.4154beeb3bfadp-17, 0x1.0eac663a27139p-19, -0x1.ac1c3500d2b1fp-24,
                     -0x1.182766bf69552p-23, 0x1.316152574bb02p-24, -0x1.8fab04c771339p-26, 0x1.80a598631028bp-28,
                     -0x1.18dce5e879702p-30, 0x1.314a273584eedp-33, -0x1.d312e6dbddc25p-37, 0x1.c0791d57501c5p-41,
                     -0x1.95d32ebf448f6p-46);
  }
  return copysign(select(magnitude < 1, fma(magnitude, near, magnitude), 1 - detail::exp_within_80(-far)), x);
}

}  // namespace gradual::math
