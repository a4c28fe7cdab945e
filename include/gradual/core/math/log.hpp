#pragma once
#include <gradual/core/math/horner.hpp>

namespace gradual::math {

/// Natural logarithm within 2 ULP; log 0 = −inf, below zero NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log(T x) {
  using Bits = BitsOf<T>;
  using Signed = std::make_signed_t<Bits>;
  constexpr int mantissa = FloatFormat<T>::mantissa_bits;
  constexpr T high = sizeof(T) == 4 ? T(0.693145751953125) : T(0x1.62e42fefa38p-1);
  constexpr T low = sizeof(T) == 4 ? T(1.428606765330187e-06) : T(0x1.ef35793c7673p-45);
  const bool tiny = x < from_bits<T>(Bits{1} << mantissa);  // subnormal, zero or negative
  const Bits bits = to_bits(select(tiny, x * from_bits<T>(Bits(FloatFormat<T>::bias + mantissa + 2) << mantissa), x));
  // m in [√½, √2)
  const Bits offset = to_bits(T(0.70710678118654752));
  const Signed exponent = static_cast<Signed>(bits - offset) >> mantissa;
  const T m = from_bits<T>(bits - (static_cast<Bits>(exponent) << mantissa));
  const T k = static_cast<T>(exponent) - select(tiny, T(mantissa + 2), T(0));
  // log(1 + f) = f − f²/2 + s(f²/2 + R(s²)), s = f/(2 + f) (Ng 1986, fdlibm)
  const T f = m - T(1), s = f / (T(2) + f), z = s * s, half = T(0.5) * f * f;
  T r;
  if constexpr (sizeof(T) == 4) r = z * horner(z, T(0.6666666666666666), T(0.4), T(0.2857142857142857), T(0.2222222222222222), T(0.18181818181818182));
  else r = z * horner(z, T(0.6666666666666666), T(0.4), T(0.2857142857142857), T(0.2222222222222222), T(0.18181818181818182), T(0.15384615384615385), T(0.13333333333333333), T(0.11764705882352941), T(0.10526315789473684), T(0.09523809523809523), T(0.08695652173913043));
  const T result = fma(k, high, f - (half - fma(s, half + r, k * low)));
  const T special = select(x == T(0), -infinity<T>(), select(x < T(0), quiet_nan<T>(), x));
  return select((x > T(0)) & (x < infinity<T>()), result, special);
}

}  // namespace gradual::math
