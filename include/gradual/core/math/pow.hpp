#pragma once

#include <gradual/core/math/exp_reduction.hpp>
#include <gradual/core/math/log_reduction.hpp>
#include <gradual/core/math/round.hpp>

namespace gradual::math {
namespace detail {

/// A number and its rounding error: their sum has about twice the digits of a double.
struct DoubleWord {
  double high, low;
};

/// Returns log(x) of a positive finite x to about 2^-65 relative, so that pow's last digit survives a product of up to 745.
GRADUAL_HD GRADUAL_INLINE constexpr DoubleWord log_double_word(double x) {
  const auto [f, k] = reduce_log(x);
  // s = f / (2 + f) and z = s²
  const double sum = 2 + f, sum_low = f - (sum - 2);
  const double s = div(f, sum), s_low = div(fma(-s, sum_low, fma(-s, sum, f)), sum);
  const double z = mul(s, s), z_low = fma(mul(2.0, s), s_low, fma(s, s, -z));
  // log(1 + f) = s (2 + z (2/3 + z T(z))), T minimax to 2^-72 of the whole
  const double t =
      mul(z, horner(z, 0x1.9999999999996p-2, 0x1.2492492493034p-2, 0x1.c71c71c5808d8p-3, 0x1.745d18324122cp-3,
                    0x1.3b1362bab4d60p-3, 0x1.1120b4eedb731p-3, 0x1.de338ce9f2532p-4, 0x1.eb1036f1e6411p-4));
  constexpr double two_thirds = 0x1.5555555555555p-1, two_thirds_low = 0x1.5555555555555p-55;
  const double b = two_thirds + t, b_low = (t - (b - two_thirds)) + two_thirds_low;
  const double a = mul(z, b), a_low = fma(z_low, b, fma(z, b_low, fma(z, b, -a)));
  const double c = 2 + a, c_low = (a - (c - 2)) + a_low;
  const double p = mul(s, c), p_low = fma(s_low, c, fma(s, c_low, fma(s, c, -p)));
  // + k ln 2, whose high part has 42 bits and so an exact product with k
  const double whole = mul(k, 0x1.62e42fefa38p-1), high = whole + p;
  return {high, ((p - (high - whole)) + p_low) + mul(k, 0x1.ef35793c7673p-45)};
}

/// Returns x^y for x > 0 and finite y, with the product y log x carried in two words.
GRADUAL_HD GRADUAL_INLINE constexpr double pow_positive(double x, double y) {
  const auto [high, low] = log_double_word(x);
  const double product = mul(y, high);
  const double product_low = fma(y, low, fma(y, high, -product));
  const double clamped = clamp(product, -746.0, 710.0);
  const auto [n, r] = reduce_exp(clamped);
  return scale(1 + expm1_of_remainder(r + select(clamped == product, product_low, 0.0)), n);
}

/// For float: computes in double, where every x is normal and no result is out of range, and rounds once at the end.
/// log(1 + f) = s (2 + z R(z)) with s = f / (2 + f) and z = s², R minimax to 2^-44 of it; e^r = 1 + r + r² Q(r) to 2^-32.
GRADUAL_HD GRADUAL_INLINE constexpr float pow_positive(float x, float y) {
  const auto [f, k] = reduce_log_of_normal(static_cast<double>(x));
  const double s = div(f, 2 + f), z = mul(s, s);
  const double of_fraction = mul(s, horner(z, 2.0, 0x1.555555561e2cfp-1, 0x1.999996a98ececp-2, 0x1.249411ce4660ap-2,
                                           0x1.c62b2024e9c45p-3, 0x1.9114dacf7327dp-3));
  const double log = fma(k, ln2_high<double>, of_fraction);
  const auto [n, r] = reduce_exp(clamp(mul(static_cast<double>(y), log), -110.0, 89.0));
  const double power = horner(r, 1.0, 1.0, 0x1.0000001d08f30p-1, 0x1.55555133f0b89p-3, 0x1.5554ae22e18ebp-5,
                              0x1.111633c164316p-7, 0x1.6d7bc7c4055ebp-10, 0x1.9a89af2a53707p-13);
  return static_cast<float>(mul(power, power_of_two<double>(n)));
}

}  // namespace detail

/// Returns x^y with the special cases of IEEE 754 (as C's pow). Error at most 0.51 ULP (float), 1.2 ULP (double), subnormal
/// results included. x^0 = 1^y = 1 even for NaN; a negative x needs an integer y, else the result is NaN.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T pow(T x, T y) {
  const T base = abs(x), exponent = abs(y);
  const bool integer = detail::round_magnitude(exponent) == exponent;
  const T half = mul(exponent, T(0.5));
  const bool odd = integer & (detail::round_magnitude(half) != half);
  const bool limit = (base == 0) | (base == infinity<T>());  // 0 and infinity have no logarithm to multiply
  // From 2^65 on, every base but 1 has overflowed or vanished.
  constexpr T huge = T(0x1p65);
  const T positive = detail::pow_positive(select(limit | (y == 0), T(1), base), detail::clamp(y, -huge, huge));
  const T at_limit = select((base == 0) == (y < 0), infinity<T>(), T(0));
  const T magnitude = select(limit, at_limit, positive);
  const T signed_magnitude = select(odd, copysign(magnitude, x), magnitude);
  const bool unordered = (x != x) | (y != y);
  const bool undefined = unordered | ((x < 0) & (base < infinity<T>()) & !integer);
  return select((x == 1) | (y == 0), T(1), select(undefined, quiet_nan<T>(), signed_magnitude));
}

}  // namespace gradual::math
