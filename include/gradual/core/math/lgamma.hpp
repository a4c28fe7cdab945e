#pragma once

#include <gradual/core/math/gamma_reduction.hpp>
#include <gradual/core/math/horner.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual::math {

/// Returns log Γ(x) for x > 0. Error at most 3 ULP. lgamma(0) = inf, below zero NaN.
/// Below 8: log Γ(2 + e) = e P(e), P close to minimax for e from -3/4 to 1/4, and the logarithm of a product. From 8 on:
/// Stirling's series.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T lgamma(T x) {
  constexpr T overflows = T(sizeof(T) == 4 ? 0x1.895f1cp121 : 0x1.754d9278b51a8p1014);
  const bool small = (x > 0) & (x < 8), large = (x >= 8) & (x < overflows);
  const T near = select(small, x, T(2)), far = select(large, x, T(8));
  const auto [rest, product, slope] = detail::reduce_gamma(near, T(1.25));
  const bool below_quarter = near < T(0.25), below = near < T(1.25);
  const T e = select(below_quarter, near, select(below, near - 1, rest - 2));
  T p;
  if constexpr (std::is_same_v<T, float>)
    p = horner(e, 0x1.b0ee6p-2f, 0x1.4a34ccp-2f, -0x1.13ep-4f, 0x1.5131bep-6f, -0x1.e40dfcp-8f, 0x1.7b22bp-9f,
               -0x1.351eb2p-10f, 0x1.0c41aap-11f, -0x1.535338p-12f, -0x1.f41c64p-14f, -0x1.b5acb4p-13f);
  else
    p = horner(e, 0x1.b0ee6072093cep-2, 0x1.4a34cc4a60fa6p-2, -0x1.13e001a55761p-4, 0x1.51322ac7d8464p-6,
               -0x1.e404fc21887fap-8, 0x1.7add6eadd4b97p-9, -0x1.38ac5c339c1dap-10, 0x1.0b36af4fd9c71p-11,
               -0x1.d3fd45131d8b7p-13, 0x1.a12800dd9f4dfp-14, -0x1.78df8e0381d85p-15, 0x1.57f3191066647p-16,
               -0x1.3cf38c6d207e7p-17, 0x1.29132b753786cp-18, -0x1.f4f629dfde7a7p-20, 0x1.0f10d9d1a51cp-20,
               -0x1.4782a679399dap-20, -0x1.e63880d5661acp-20, -0x1.5a24cbb1cf0ebp-19, -0x1.a3a22e38305ddp-20,
               -0x1.0928bd771dab4p-21);
  const T log_x = log(select(small, select(below_quarter, mul(near, 1 + near), select(below, near, product)), far));
  const T r = div(T(1), far);
  const T series = mul(r, horner(mul(r, r), T(1. / 12), T(-1. / 360), T(1. / 1260), T(-1. / 1680), T(1. / 1188),
                                 T(-691. / 360360), T(1. / 156), T(-3617. / 122400)));
  const T stirling = fma(far - T(0.5), log_x - 1, T(0.41893853320467274178) + series);  // log(2π)/2 - 1/2
  const T special = select(x < 0, quiet_nan<T>(), select(x == x, infinity<T>(), x));
  return select(small, fma(e, p, select(below, -log_x, log_x)), select(large, stirling, special));
}

}  // namespace gradual::math
