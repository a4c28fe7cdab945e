#pragma once
// Correctly rounded fma and sqrt in integers, for constant evaluation, where no compiler at hand accepts the builtins.

#include <cstdint>

#include <gradual/core/math/bits.hpp>

namespace gradual::math::soft {

__extension__ typedef unsigned __int128 Uint128;

/// An unsigned integer that holds an exact product with at least twelve bits to spare.
template <class T> struct WideOf { using type = std::uint64_t; };
template <> struct WideOf<double> { using type = Uint128; };
template <class T> using Wide = typename WideOf<T>::type;

template <class W> inline constexpr int width = sizeof(W) * 8;

template <class W> GRADUAL_HD constexpr int leading_zeros(W value) {
  int zeros = 0;
  for (int step = width<W> / 2; step > 0; step /= 2)
    if ((value >> (width<W> - step)) == 0) {
      value <<= step;
      zeros += step;
    }
  return zeros;
}

/// Returns value / 2^shift, with the last bit set if any bit that was shifted out is set.
template <class W> GRADUAL_HD constexpr W shift_right_sticky(W value, int shift) {
  if (shift <= 0) return value;
  if (shift >= width<W>) return value != 0;
  return (value >> shift) | W((value << (width<W> - shift)) != 0);
}

/// A finite nonzero number: mantissa * 2^exponent, the top bit of the mantissa at the place of the hidden bit.
template <class T> struct Unpacked {
  BitsOf<T> mantissa;
  int exponent;
};

template <class T> GRADUAL_HD constexpr Unpacked<T> unpack(BitsOf<T> magnitude) {
  constexpr int bits = FloatFormat<T>::mantissa_bits;
  constexpr BitsOf<T> hidden = BitsOf<T>{1} << bits;
  const int exponent = static_cast<int>(magnitude >> bits);
  if (exponent != 0) return {(magnitude & (hidden - 1)) | hidden, exponent - FloatFormat<T>::bias - bits};
  const int shift = leading_zeros(magnitude) - (width<BitsOf<T>> - 1 - bits);
  return {static_cast<BitsOf<T>>(magnitude << shift), 1 - FloatFormat<T>::bias - bits - shift};
}

/// Returns the bits of value * 2^exponent (value not zero), rounded to nearest even, also to subnormals and infinity.
template <class T> GRADUAL_HD constexpr BitsOf<T> round_to_bits(Wide<T> value, int exponent) {
  constexpr int bits = FloatFormat<T>::mantissa_bits, bias = FloatFormat<T>::bias;
  constexpr int drop = width<Wide<T>> - 1 - bits;  // bits below the mantissa once the top bit is set
  const int zeros = leading_zeros(value);
  value <<= zeros;
  int field = exponent - zeros + (width<Wide<T>> - 1) + bias;
  if (field > 2 * bias) return infinity_bits<T>;
  if (field < 1) {
    value = shift_right_sticky(value, 1 - field);
    field = 1;
  }
  const Wide<T> half = Wide<T>{1} << (drop - 1);
  const Wide<T> rest = value & (2 * half - 1);
  auto mantissa = static_cast<BitsOf<T>>(value >> drop);
  if (rest > half || (rest == half && (mantissa & 1))) ++mantissa;
  // The hidden bit adds one to the field; a carry out of the mantissa, another.
  return (static_cast<BitsOf<T>>(field - 1) << bits) + mantissa;
}

/// Returns a * b + c with one rounding. Every NaN result is the quiet one.
template <class T> GRADUAL_HD constexpr T fma(T a, T b, T c) {
  constexpr BitsOf<T> sign = sign_bit<T>, inf = infinity_bits<T>;
  const BitsOf<T> bits_a = to_bits(a), bits_b = to_bits(b), bits_c = to_bits(c);
  const BitsOf<T> abs_a = bits_a & ~sign, abs_b = bits_b & ~sign, abs_c = bits_c & ~sign;
  const BitsOf<T> sign_p = (bits_a ^ bits_b) & sign, sign_c = bits_c & sign;
  if (abs_a >= inf || abs_b >= inf || abs_c >= inf) {
    const bool nan = abs_a > inf || abs_b > inf || abs_c > inf;
    const bool infinite_product = abs_a == inf || abs_b == inf;
    const bool invalid = infinite_product && (abs_a == 0 || abs_b == 0 || (abs_c == inf && sign_p != sign_c));
    if (nan || invalid) return quiet_nan<T>();
    return from_bits<T>(infinite_product ? inf | sign_p : bits_c);
  }
  if (abs_a == 0 || abs_b == 0) return from_bits<T>(abs_c != 0 ? bits_c : sign_p & sign_c);

  using W = Wide<T>;
  constexpr int bits = FloatFormat<T>::mantissa_bits;
  constexpr int lift_p = width<W> - 2 - (2 * bits + 2);  // both operands just below the top: room for a carry
  constexpr int lift_c = width<W> - 2 - (bits + 1);
  const Unpacked<T> ua = unpack<T>(abs_a), ub = unpack<T>(abs_b);
  W large = (W{ua.mantissa} * ub.mantissa) << lift_p;
  int exponent = ua.exponent + ub.exponent - lift_p;
  if (abs_c == 0) return from_bits<T>(round_to_bits<T>(large, exponent) | sign_p);
  const Unpacked<T> uc = unpack<T>(abs_c);
  W small = W{uc.mantissa} << lift_c;
  BitsOf<T> sign_large = sign_p;
  int distance = exponent - (uc.exponent - lift_c);
  if (distance < 0 || (distance == 0 && small > large)) {
    const W swapped = large;
    large = small;
    small = swapped;
    sign_large = sign_c;
    exponent -= distance;
    distance = -distance;
  }
  small = shift_right_sticky(small, distance);
  if (sign_p == sign_c) return from_bits<T>(round_to_bits<T>(large + small, exponent) | sign_large);
  if (large == small) return T{0};
  if (small > large) return from_bits<T>(round_to_bits<T>(small - large, exponent) | (sign_large ^ sign));
  return from_bits<T>(round_to_bits<T>(large - small, exponent) | sign_large);
}

/// Returns the square root, correctly rounded; for a number below zero the quiet NaN, for -0 itself.
template <class T> GRADUAL_HD constexpr T sqrt(T x) {
  const BitsOf<T> magnitude = to_bits(x);
  if (magnitude == 0 || magnitude == sign_bit<T> || magnitude == infinity_bits<T>) return x;
  if (magnitude > infinity_bits<T>) return quiet_nan<T>();
  using W = Wide<T>;
  constexpr int bits = FloatFormat<T>::mantissa_bits;
  const Unpacked<T> u = unpack<T>(magnitude);
  // An even exponent, and a square so large that its root has a bit to round by.
  const int shift = bits + 2 + ((u.exponent - (bits + 2)) & 1);
  const W square = W{u.mantissa} << shift;
  const double target = static_cast<double>(square);
  double guess = __builtin_bit_cast(double, (__builtin_bit_cast(std::uint64_t, target) >> 1) + (std::uint64_t{1023} << 51));
  for (int i = 0; i < 4; ++i) guess = 0.5 * (guess + target / guess);
  W root = static_cast<std::uint64_t>(guess);
  while (root * root > square) --root;
  while ((root + 1) * (root + 1) <= square) ++root;
  return from_bits<T>(round_to_bits<T>(2 * root + (root * root != square), (u.exponent - shift) / 2 - 1));
}

}  // namespace gradual::math::soft
