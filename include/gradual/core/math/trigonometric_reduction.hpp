#pragma once
// Shared by sin and cos: x = n π/2 + r with |r| <= π/4, and the two polynomials on that interval.

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/horner.hpp>

namespace gradual::math::detail {

struct QuarterTurns {
  std::uint64_t n;  // modulo 4 in its last two bits
  double remainder, low;
};

/// Reduces x by π/2 in three parts (160 bits): the first product cancels exactly, the second is carried in two words.
GRADUAL_HD GRADUAL_INLINE constexpr QuarterTurns reduce_quarter_turns(double x) {
  constexpr double shifter = FloatFormat<double>::shifter;
  constexpr double part1 = 0x1.921fb54442d18p+0, part2 = 0x1.1a62633145c07p-54, part3 = -0x1.f1976b7ed8fbcp-110;
  const double shifted = fma(x, 0x1.45f306dc9c883p-1, shifter);
  const double n = shifted - shifter;
  const double rest = fma(n, -part1, x);
  const double product = mul(n, part2), product_low = fma(n, part2, -product);
  const double r = rest - product;
  const double back = r - rest;
  const double lost = (rest - (r - back)) - (product + back);  // rest - product = r + lost exactly
  const double low = fma(n, -part3, lost - product_low);
  const double remainder = r + low;
  return {to_bits(shifted), remainder, low - (remainder - r)};
}

/// Returns sin(r + low), relative error of the polynomial 2^-68.
GRADUAL_HD GRADUAL_INLINE constexpr double sin_of_remainder(double r, double low) {
  const double z = mul(r, r);
  const double p = horner(z, -0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018acep-13, 0x1.71de3a5337ad6p-19,
                     -0x1.ae645295ebb1cp-26, 0x1.6120912d082f7p-33, -0x1.aaa480059ef1ap-41);
  return r + fma(mul(r, z), p, fma(mul(-0.5, z), low, low));
}

/// Returns cos(r + low), relative error of the polynomial 2^-75.
GRADUAL_HD GRADUAL_INLINE constexpr double cos_of_remainder(double r, double low) {
  const double z = mul(r, r);
  const double p = horner(z, 0x1.5555555555555p-5, -0x1.6c16c16c16c0fp-10, 0x1.a01a01a018cb1p-16, -0x1.27e4fb75e9dfep-22,
                     0x1.1eed8c8ee8961p-29, -0x1.939321fa915bap-37, 0x1.aabc20ced286cp-45);
  const double half = mul(0.5, z), head = 1 - half;
  return head + (((1 - head) - half) + fma(mul(z, z), p, mul(-r, low)));
}

/// Returns sin(x + turns π/2); NaN where |x| > limit, also at infinities.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sin_of_turned(T x, std::uint64_t turns) {
  // float: its 24 digits leave room for larger arguments.
  constexpr double limit = std::is_same_v<T, float> ? 0x1p50 : 0x1p30;
  const double wide = static_cast<double>(x);
  const bool inside = abs(wide) <= limit;
  const auto [n, r, low] = reduce_quarter_turns(select(inside, wide, 0.0));
  const std::uint64_t quarter = n + turns;
  const double magnitude = select((quarter & 1) != 0, cos_of_remainder(r, low), sin_of_remainder(r, low));
  const double value = from_bits<double>(to_bits(magnitude) ^ ((quarter & 2) << 62));
  return static_cast<T>(select(inside, value, quiet_nan<double>()));
}

}  // namespace gradual::math::detail
