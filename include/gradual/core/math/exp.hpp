#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// e^x. Error at most 1 ULP, subnormal results included; overflows to infinity from the same x as the exact result.
/// In a constant expression a result beyond the largest number does not compile.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T exp(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  const auto [n, r] = detail::reduce_exp(detail::clamp(x, T(single ? -104 : -746), T(single ? 89 : 710)));
  return detail::scale(1 + detail::expm1_of_remainder(r), n);
}

}  // namespace gradual::math
