#pragma once
// Shared by exp, expm1, sigmoid and pow: x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) - 1, which tanh of doubles uses too.

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/horner.hpp>
#include <gradual/core/math/ln2.hpp>

namespace gradual::math::detail {

/// Clamps x to [low, high]; NaN stays NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T clamp(T x, T low, T high) {
  return select(x > high, high, select(x < low, low, x));
}

template <class T> struct ExpReduction {
  BitsOf<T> n;  // in wrapping arithmetic
  T remainder;
};

/// For |x| below 2^12; beyond that, n ln 2 is no longer exact.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr ExpReduction<T> reduce_exp(T x) {
  constexpr T shifter = FloatFormat<T>::shifter;
  constexpr T log2_e = T(0x1.71547652b82fep+0);
  const T shifted = fma(x, log2_e, shifter);
  const T n = shifted - shifter;
  return {to_bits(shifted) - to_bits(shifter), fma(n, -ln2_low<T>, fma(n, -ln2_high<T>, x))};
}

/// Returns exp(r) - 1 for |r| <= ln 2 / 2: r + r² q(r), q minimax, relative error 2^-34 (float), 2^-64 (double).
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T expm1_of_remainder(T r) {
  T q;
  if constexpr (std::is_same_v<T, float>)
    q = horner(r, 0x1p-1f, 0x1.555556p-3f, 0x1.55548p-5f, 0x1.11107cp-7f, 0x1.6d96d4p-10f, 0x1.a1b7f6p-13f);
  else
    q = horner(r, 0x1p-1, 0x1.555555555555cp-3, 0x1.555555555555ep-5, 0x1.111111110eb94p-7, 0x1.6c16c16c135abp-10,
               0x1.a01a01b3c7338p-13, 0x1.a01a01b44d5bfp-16, 0x1.71ddef752119ep-19, 0x1.27e4bf3efe0b9p-22,
               0x1.af6d0323741bbp-26, 0x1.1f9ddc94b0432p-29);
  return fma(mul(r, r), q, r);
}

/// Returns value 2^n for a value near 1, in two factors so that n may exceed the exponent's range; subnormals are rounded once.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T scale(T value, BitsOf<T> n) {
  constexpr BitsOf<T> offset = 4096;  // makes n positive, so that a logical shift halves it
  const BitsOf<T> half = ((n + offset) >> 1) - offset / 2;
  return mul(mul(value, power_of_two<T>(half)), power_of_two<T>(n - half));
}

/// Returns e^x for |x| up to 80, where it is a normal number, with the bits of exp. NaN stays NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T exp_within_80(T x) {
  const auto [n, r] = reduce_exp(x);
  return mul(1 + expm1_of_remainder(r), power_of_two<T>(n));
}

}  // namespace gradual::math::detail
