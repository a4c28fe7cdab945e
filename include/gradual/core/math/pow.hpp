#pragma once
#include <gradual/core/math/exp.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual::math {

/// a to the power b with IEEE's special cases. float is computed in double, within 1 ULP; in double the relative error
/// is at most about (1 + |b·log a|)·2⁻⁵³.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T pow(T a, T b) {
  const T magnitude = abs(a);
  const bool usual = (magnitude > T(0)) & (magnitude < infinity<T>()) & (abs(b) < infinity<T>());
  const double exponent = static_cast<double>(b) * log(static_cast<double>(select(usual, magnitude, T(1))));
  T result = static_cast<T>(exp(select(usual, exponent, 0.0)));
  // Beyond the usual: powers of 0 and infinity, infinite exponents, NaN.
  const T grows = select((magnitude > T(1)) == (b > T(0)), infinity<T>(), T(0));
  result = select(usual, result, select(magnitude == T(1), T(1), grows));
  // An integer exponent is odd if half of it is not an integer; beyond 2^mantissa all are even.
  constexpr T shifter = FloatFormat<T>::shifter;
  const T limited = select(abs(b) < T(4194304), b, T(0));
  const bool integer = (limited + shifter) - shifter == limited, huge = limited != b;
  const bool odd = integer & ((limited * T(0.5) + shifter) - shifter != limited * T(0.5));
  const bool negative = (to_bits(a) & sign_bit<T>) != 0;
  result = select(negative & odd, -result, result);
  result = select((a < T(0)) & !integer & !huge & (magnitude < infinity<T>()), quiet_nan<T>(), result);
  result = select((a != a) | (b != b), quiet_nan<T>(), result);
  return select((b == T(0)) | (a == T(1)), T(1), result);
}

}  // namespace gradual::math
