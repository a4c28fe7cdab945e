#pragma once
#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// eˣ − 1 within 2 ULP, also near 0; −0 stays −0.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T expm1(T x) {
  constexpr T highest = sizeof(T) == 4 ? T(89) : T(710), lowest = sizeof(T) == 4 ? T(-20) : T(-45);
  const T clamped = select(x > highest, highest, select(x < lowest, lowest, x));
  const ExpReduction<T> e = reduce_exp(clamped);
  const T p = fma(e.r * e.r, exp_tail(e.r), e.r);
  const BitsOf<T> half_n = e.n - BitsOf<T>{1};  // 2ⁿ itself may be too large by one
  const T scale = power_of_two<T>(half_n);
  const T result = fma(p, scale, scale - T(0.5)) * T(2);
  return select(x == T(0), x, result);
}

}  // namespace gradual::math
