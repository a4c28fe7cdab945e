#pragma once

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/horner.hpp>

namespace gradual::math {
namespace detail {

/// Returns the angle of (x, y) as n π/4 ± atan(u + low), where u + low, carried in two words, is the smaller of |x| and |y|
/// divided by the larger one or, from tan(π/8) on, (smaller − larger) / (smaller + larger).
GRADUAL_HD GRADUAL_INLINE constexpr double angle(double y, double x) {
  constexpr double inf = infinity<double>(), quarter = 0x1.921fb54442d18p-1, quarter_low = 0x1.1a62633145c07p-55;
  const bool steep = abs(y) > abs(x), backwards = (to_bits(x) >> 63) != 0;
  double smaller = select(steep, abs(x), abs(y)), larger = select(steep, abs(y), abs(x));
  const bool endless = larger == inf;
  smaller = select(endless, select(smaller == inf, 1.0, 0.0), smaller);
  larger = select(endless | (larger == 0), 1.0, larger);
  const double scale = select(larger > 0x1p1000, 0x1p-60, select(larger < 0x1p-900, 0x1p120, 1.0));
  smaller = mul(smaller, scale), larger = mul(larger, scale);

  const bool turned = smaller > mul(larger, 0.4140625);
  const double gap = larger - smaller, gap_low = (larger - gap) - smaller;
  const double sum = larger + smaller, sum_low = smaller - (sum - larger);
  const double above = select(turned, -gap, smaller), above_low = select(turned, -gap_low, 0.0);
  const double below = select(turned, sum, larger), below_low = select(turned, sum_low, 0.0);
  const double u = div(above, below);
  const double low = div(fma(-u, below_low, fma(-u, below, above) + above_low), below);

  // atan(u) = u + u z P(z), z = u² <= 0.1722; relative error of the whole 2^-58
  const double z = mul(u, u);
  const double p = horner(z, -0x1.5555555555555p-2, 0x1.9999999999996p-3, -0x1.2492492492088p-3, 0x1.c71c71c6dba35p-4,
                          -0x1.745d1734e73aep-4, 0x1.3b13ae98ad73fp-4, -0x1.1110cd6a70646p-4, 0x1.e1d8be68592f3p-5,
                          -0x1.aebb7c6047a47p-5, 0x1.8292727a275e9p-5, -0x1.501226d08bb0ap-5, 0x1.f52ca1d60acf4p-6,
                          -0x1.c688f6223a90ap-7);
  const double tail = fma(mul(u, z), p, mul(low, fma(-z, 1 - z, 1.0)));

  const double from_axis = select(turned, 1.0, 0.0);
  const double from_right = select(steep, 2 - from_axis, from_axis);
  const double quarters = select(backwards, 4 - from_right, from_right), sign = select(steep != backwards, -1.0, 1.0);
  const double base = mul(quarters, quarter), turn = mul(sign, u), total = base + turn;  // base has three bits to spare
  return total + (((base - total) + turn) + fma(sign, tail, mul(quarters, quarter_low)));
}

}  // namespace detail

/// Returns the angle of the point (x, y), from −π to π, with the special cases of IEEE 754 (as C's atan2). Error at most 0.51
/// ULP for float, 0.8 ULP for double.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T atan2(T y, T x) {
  const double magnitude = detail::angle(static_cast<double>(y), static_cast<double>(x));
  return copysign(select((x != x) | (y != y), quiet_nan<T>(), static_cast<T>(magnitude)), y);
}

}  // namespace gradual::math
