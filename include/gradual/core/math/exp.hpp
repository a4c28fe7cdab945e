#pragma once
#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// eˣ within 2 ULP; overflows to infinity, underflows gradually.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T exp(T x) {
  constexpr T highest = sizeof(T) == 4 ? T(89) : T(710), lowest = sizeof(T) == 4 ? T(-104) : T(-746);
  const T clamped = select(x > highest, highest, select(x < lowest, lowest, x));
  const ExpReduction<T> e = reduce_exp(clamped);
  const T p = fma(e.r * e.r, exp_tail(e.r), e.r) + T(1);
  // 2ⁿ in two factors: the first keeps p normal, so that only the second rounds.
  const BitsOf<T> bias = BitsOf<T>{4} * FloatFormat<T>::bias;
  const BitsOf<T> half = ((e.n + bias) >> 1) - (bias >> 1);
  return p * power_of_two<T>(half) * power_of_two<T>(e.n - half);
}

}  // namespace gradual::math
