#pragma once
// Shared by log, log1p and pow: x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f).

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/horner.hpp>
#include <gradual/core/math/ln2.hpp>

namespace gradual::math::detail {

template <class T> struct LogReduction {
  T fraction;  // f, exact
  T exponent;  // k
};

/// Reduces normal x above 0; anything else gives some finite result.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr LogReduction<T> reduce_log_of_normal(T x) {
  constexpr int bits = FloatFormat<T>::mantissa_bits;
  constexpr BitsOf<T> one = to_bits(T(1)), sqrt_half = to_bits(T(0x1.6a09e667f3bcdp-1));
  constexpr T shifter = FloatFormat<T>::shifter;
  const BitsOf<T> moved = to_bits(x) + (one - sqrt_half);
  const BitsOf<T> k = (moved >> bits) - BitsOf<T>{FloatFormat<T>::bias};
  const T fraction = from_bits<T>((moved & ((BitsOf<T>{1} << bits) - 1)) + sqrt_half) - 1;
  return {fraction, from_bits<T>(to_bits(shifter) + k) - shifter};
}

/// Does the same, subnormals included.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr LogReduction<T> reduce_log(T x) {
  constexpr int bits = FloatFormat<T>::mantissa_bits;
  const bool subnormal = x < power_of_two<T>(BitsOf<T>{1} - FloatFormat<T>::bias);
  const auto [fraction, exponent] = reduce_log_of_normal(mul(x, select(subnormal, power_of_two<T>(bits), T(1))));
  return {fraction, exponent - select(subnormal, T(bits), T(0))};
}

/// Returns log(1 + f) - f.
/// float: f² (f q(f) - 1/2), q minimax, relative error of the logarithm 2^-30.
/// double: with s = f / (2 + f), log(1 + f) = f - f²/2 + s (f²/2 + s² R(s²)) (as in FDLIBM), R minimax, error 2^-65 s.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log_tail(T f) {
  if constexpr (std::is_same_v<T, float>) {
    const T q =
        horner(f, 0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a4b6p-3f, -0x1.555c4ep-3f, 0x1.23376ap-3f,
                     -0x1.fc220ap-4f, 0x1.e6f052p-4f, -0x1.de3bdep-4f, 0x1.14578p-4f);
    return mul(mul(f, f), fma(f, q, T(-0.5)));
  } else {
    const T s = div(f, 2 + f), z = mul(s, s), half_square = mul(T(0.5), mul(f, f));
    const T r =
        horner(z, 0x1.5555555555555p-1, 0x1.9999999999dfep-2, 0x1.249249242b529p-2, 0x1.c71c7258e974dp-3,
                     0x1.745cde3be5c97p-3, 0x1.3b20aa7e2a33dp-3, 0x1.0f5ce1126dc27p-3, 0x1.0f6236ff8cf5ep-3);
    return fma(s, fma(z, r, half_square), -half_square);
  }
}

/// Returns log(2^k (1 + f)).
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T log_of(const LogReduction<T>& x) {
  return fma(x.exponent, ln2_high<T>, x.fraction + fma(x.exponent, ln2_low<T>, log_tail(x.fraction)));
}

}  // namespace gradual::math::detail
