#pragma once

#include <gradual/core/math/gamma_reduction.hpp>
#include <gradual/core/math/horner.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual::math {

/// Returns ψ(x), the derivative of log Γ(x), for x > 0. Error at most 4 ULP (float), 5 ULP (double). digamma(0) = -inf, below
/// zero NaN. Below 8: ψ(z) = (z - root) P(z - 3/2) / z, P minimax for z from 1 to 2, plus the factors' reciprocals. From 8 on:
/// the asymptotic series.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T digamma(T x) {
  const bool small = (x > 0) & (x < 8), large = (x >= 8) & (x < infinity<T>());
  const T near = select(small, x, T(1)), far = select(large, x, T(8));
  const auto [rest, product, slope] = detail::reduce_gamma(near, T(1));
  const bool below = near < 1;
  const T z = select(below, near + 1, rest);
  T p, from_root;
  if constexpr (std::is_same_v<T, float>) {
    from_root = (z - 0x1.762d86p0f) - 0x1.ab5f2p-27f;
    p = horner(z - 1.5f, 0x1.6d3498p0f, 0x1.433082p-2f, -0x1.0148eep-4f, 0x1.25dac4p-6f, -0x1.841a4cp-8f, 0x1.134dc6p-9f,
               -0x1.98595cp-11f, 0x1.53b3p-12f, -0x1.072beap-13f);
  } else {
    from_root = (z - 0x1.762d86356be3fp0) - 0x1.b86a722197829p-54;
    p = horner(z - 1.5, 0x1.6d3498ca56891p0, 0x1.433082f058649p-2, -0x1.0148eed6c6c16p-4, 0x1.25d9429f5af59p-6,
               -0x1.8417ed8f9c4efp-8, 0x1.13f9ae1d3e0f1p-9, -0x1.996841b61bfap-11, 0x1.379290ea96ecp-12,
               -0x1.e206eafdeb5afp-14, 0x1.78dba253a2662p-15, -0x1.28be0b89ce5b1p-16, 0x1.d5d1bbfe33e82p-18,
               -0x1.74f75be924f02p-19, 0x1.249b41e4166f2p-20, -0x1.d25cf33cf4758p-22, 0x1.c000ae495e21bp-23,
               -0x1.65c5838fc84b5p-24);
  }
  const T reciprocals = div(select(below, T(-1), slope), select(below, near, product));
  const T r = div(T(1), select(small, z, far)), s = mul(r, r);
  const T series = horner(s, T(1. / 12), T(-1. / 120), T(1. / 252), T(-1. / 240), T(1. / 132), T(-691. / 32760), T(1. / 12),
                          T(-3617. / 8160), T(43867. / 14364));
  const T special = select(x < 0, quiet_nan<T>(), select(x == 0, -infinity<T>(), x));
  return select(small, fma(mul(from_root, p), r, reciprocals),
                select(large, log(far) - fma(s, series, mul(T(0.5), r)), special));
}

}  // namespace gradual::math
