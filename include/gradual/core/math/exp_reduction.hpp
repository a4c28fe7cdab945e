#pragma once
#include <gradual/core/math/horner.hpp>

namespace gradual::math {

/// x = n·ln 2 + r with |r| ≤ ln 2 / 2, for |x| below about 1000 (Cody and Waite 1980).
template <class T> struct ExpReduction {
  T r;
  BitsOf<T> n;  ///< modulo the word's size
};

template <class T> GRADUAL_HD GRADUAL_INLINE constexpr ExpReduction<T> reduce_exp(T x) {
  constexpr T shifter = FloatFormat<T>::shifter;
  constexpr T high = sizeof(T) == 4 ? T(0.693145751953125) : T(0x1.62e42fefa38p-1);
  constexpr T low = sizeof(T) == 4 ? T(1.428606765330187e-06) : T(0x1.ef35793c7673p-45);
  const T shifted = fma(x, T(1.4426950408889634), shifter);
  const T n = shifted - shifter;
  return {fma(-n, low, fma(-n, high, x)), to_bits(shifted) - to_bits(shifter)};
}

/// (eʳ − 1 − r)/r² for |r| ≤ ln 2 / 2: Taylor's series as far as T can tell.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T exp_tail(T r) {
  if constexpr (sizeof(T) == 4) return horner(r, T(0.5), T(0.16666666666666666), T(0.041666666666666664), T(0.008333333333333333), T(0.001388888888888889), T(0.0001984126984126984), T(2.48015873015873e-05));
  else return horner(r, T(0.5), T(0.16666666666666666), T(0.041666666666666664), T(0.008333333333333333), T(0.001388888888888889), T(0.0001984126984126984), T(2.48015873015873e-05), T(2.7557319223985893e-06), T(2.755731922398589e-07), T(2.505210838544172e-08), T(2.08767569878681e-09), T(1.6059043836821613e-10), T(1.1470745597729725e-11));
}

}  // namespace gradual::math
