#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// The hyperbolic tangent, with the sign of x: |x| + |x|³ P(x²) near 0, P minimax below 0.55; else 1 - 2 / (e^2|x| + 1).
/// Error at most 1.4 ULP; keeps -0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T tanh(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  const T magnitude = abs(x), saturated = single ? T(10) : T(20);
  constexpr T near = single ? T(0.625) : T(0.55);  // where the two err alike
  const T a = select(magnitude > saturated, saturated, magnitude), square = mul(a, a);
  T p;
  if constexpr (single)
    p = horner(square, -0x1.555554p-2f, 0x1.1110dap-3f, -0x1.ba095ap-5f, 0x1.64e054p-6f, -0x1.139e72p-7f, 0x1.39966cp-9f);
  else
    p = horner(square, -0x1.5555555555555p-2, 0x1.111111111110dp-3, -0x1.ba1ba1ba1b494p-5, 0x1.664f4882a137p-6,
                     -0x1.226e3557a5f65p-7, 0x1.d6d3cf064b6dcp-9, -0x1.7da33840928b8p-10, 0x1.35554a8e45c45p-11,
                     -0x1.f53aae12033e4p-13, 0x1.9454e05c0fa13p-14, -0x1.3d010049895dep-15, 0x1.b4ac72715a7b5p-17,
                     -0x1.7cf3b7f841815p-19);
  const auto [n, r] = detail::reduce_exp(mul(T(2), a));
  const T far = 1 - div(T(2), fma(power_of_two<T>(n), detail::exp_of_remainder(r), T(1)));
  return from_bits<T>(to_bits(select(a < near, fma(mul(a, square), p, a), far)) | (to_bits(x) & sign_bit<T>));
}

}  // namespace gradual::math
