#pragma once

#include <gradual/core/math/exp.hpp>

namespace gradual::math {

/// Returns e^(x²) erfc(x), the scaled complementary error function. Error at most 3 ULP (float), 3.2 ULP (double); overflows
/// below −9.3 (float), −26.6 (double), which does not compile in a constant expression.
/// Above 0: (1 + 2x) erfcx(x) = 1 + u P(2u − 1), u = x / (x + 3), P from Chebyshev's (after Shepherd and Laframboise 1981).
/// Below: 2e^(x²) − erfcx(−x).
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T erfcx(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  const T magnitude = abs(x), a = select(magnitude > T(0x1p60), T(0x1p60), magnitude), u = div(a, a + 3);
  T p;
  if constexpr (single)
    p = horner(2 * u - 1, 0x1.03148cp-1f, -0x1.8df4cep-1f, 0x1.5d408ap-1f, -0x1.b0fdf2p-2f, 0x1.7974cp-3f, -0x1.8692dap-5f,
               0x1.a83b5cp-14f, 0x1.41d0d4p-8f, -0x1.17554ap-10f, -0x1.a43b94p-12f, 0x1.139abp-13f, 0x1.d7324p-16f);
  else
    p = horner(2 * u - 1, 0x1.03148b5f9261dp-1, -0x1.8df4cdbd61a92p-1, 0x1.5d40a2324c626p-1, -0x1.b0fdddbee47ffp-2,
               0x1.79703b437c227p-3, -0x1.86984b2e0baedp-5, 0x1.2387235023bebp-13, 0x1.426c151d1af18p-8,
               -0x1.2b789b29acb0bp-10, -0x1.b58ad269e73a7p-12, 0x1.b203668c78406p-13, 0x1.6ac37a6fd4d9ep-15,
               -0x1.17bcf1b57d59ap-15, -0x1.cbe7463f57099p-18, 0x1.69f8282acdccdp-18, 0x1.a00e16a78d832p-20,
               -0x1.c4175cccab8cfp-21, -0x1.a2b20f5329a2bp-22, 0x1.e4a227f4c0e29p-24, 0x1.82969398d5e9p-24,
               -0x1.6688904e56008p-27, -0x1.107d793b139b2p-26, 0x1.b619d8ba36a1dp-32, 0x1.a0e43878b3a49p-30);
  const T above = div(fma(T(0.5), mul(u, p), T(0.5)), T(0.5) + magnitude);
  const T b = select(x < 0, select(magnitude > T(single ? 10 : 27), T(single ? 10 : 27), magnitude), T(0)), square = mul(b, b);
  const T grown = mul(exp(square), 1 + fma(b, b, -square));  // corrects the rounding of the square
  return select(x < 0, 2 * grown - above, above);
}

}  // namespace gradual::math
