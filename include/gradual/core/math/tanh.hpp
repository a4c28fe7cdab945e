#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// Returns the hyperbolic tangent, with the sign of x: |x| + |x|³ P(x²) near 0, P minimax; else 1 - 2 / (e^2|x| + 1). Error at
/// most 1.4 ULP in float, 1.5 in double; keeps -0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T tanh(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T near = single ? T(0.625) : T(0.55);  // below, the polynomial has the smaller error
  T a = abs(x);
  if (__builtin_is_constant_evaluated() && a > 32) a = 32;  // an overflow is not a constant expression
  const T square = mul(a, a);
  T p;
  if constexpr (single)
    p = horner(square, -0x1.555532p-2f, 0x1.110704p-3f, -0x1.b8389cp-5f, 0x1.52118ap-6f, -0x1.758e18p-8f);
  else
    p = horner(square, -0x1.5555555555555p-2, 0x1.111111111110dp-3, -0x1.ba1ba1ba1b494p-5, 0x1.664f4882a137p-6,
                     -0x1.226e3557a5f65p-7, 0x1.d6d3cf064b6dcp-9, -0x1.7da33840928b8p-10, 0x1.35554a8e45c45p-11,
                     -0x1.f53aae12033e4p-13, 0x1.9454e05c0fa13p-14, -0x1.3d010049895dep-15, 0x1.b4ac72715a7b5p-17,
                     -0x1.7cf3b7f841815p-19);

  // a = n ln 2 / 2 + r. n is bounded, not a: the result saturates where r exceeds ln 2 / 4, and NaN stays NaN.
  constexpr T shifter = FloatFormat<T>::shifter;
  constexpr BitsOf<T> last = to_bits(shifter + T(single ? 30 : 60));
  const BitsOf<T> unbounded = to_bits(fma(a, T(0x1.71547652b82fep+1), shifter));
  const BitsOf<T> shifted = unbounded < last ? unbounded : last;
  const T n = from_bits<T>(shifted) - shifter;
  T r = fma(n, -detail::ln2_high<T> / 2, a);
  T exponential;
  if constexpr (single) {  // minimax, relative error 2^-28; further digits of ln 2 change the result by less than 0.1 ULP
    exponential = horner(r, 1.0f, 2.0f, 0x1.fffff8p0f, 0x1.55548ep0f, 0x1.555b9ap-1f, 0x1.123bep-2f, 0x1.684f4cp-4f);
  } else {
    r = fma(n, -detail::ln2_low<T> / 2, r);
    exponential = 1 + detail::expm1_of_remainder(r + r);
  }
  const T far = 1 - div(T(2), fma(power_of_two<T>(shifted - to_bits(shifter)), exponential, T(1)));
  return from_bits<T>(to_bits(select(a < near, fma(mul(a, square), p, a), far)) | (to_bits(x) & sign_bit<T>));
}

}  // namespace gradual::math
