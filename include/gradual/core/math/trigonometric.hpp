#pragma once
#include <gradual/core/math/horner.hpp>

namespace gradual::math {

/// sin(x + quarter·π/2) for |x| up to about 10⁵, within 2 ULP of 1: reduction by π/2 in three parts.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T sine_of_quarter(T x, unsigned quarter) {
  constexpr T shifter = FloatFormat<T>::shifter;
  constexpr T a = sizeof(T) == 4 ? T(1.5703125) : T(1.57079632673412561417);
  constexpr T b = sizeof(T) == 4 ? T(4.837512969970703125e-4) : T(6.07710050630396597660e-11);
  constexpr T c = sizeof(T) == 4 ? T(7.549789954891882e-8) : T(2.02226624879595063154e-21);
  const T shifted = fma(x, T(0.63661977236758134), shifter), n = shifted - shifter;
  const T r = fma(-n, c, fma(-n, b, fma(-n, a, x))), z = r * r;
  const BitsOf<T> q = to_bits(shifted) + quarter;
  const T sine = fma(r * z, horner(z, T(-0.16666666666666666), T(0.008333333333333333), T(-0.0001984126984126984), T(2.7557319223985893e-06), T(-2.505210838544172e-08), T(1.6059043836821613e-10), T(-7.647163731819816e-13), T(2.8114572543455206e-15)), r);
  const T cosine = fma(z * z, horner(z, T(0.041666666666666664), T(-0.001388888888888889), T(2.48015873015873e-05), T(-2.755731922398589e-07), T(2.08767569878681e-09), T(-1.1470745597729725e-11), T(4.779477332387385e-14)), fma(z, T(-0.5), T(1)));
  const T value = select((q & 1) != 0, cosine, sine);
  return select((q & 2) != 0, -value, value);
}

}  // namespace gradual::math
