#pragma once

#include <gradual/core/math/exp_reduction.hpp>

namespace gradual::math {

/// Returns e^x. Error at most 1 ULP, subnormal results included; overflows to infinity from the same x as the exact result. In
/// a constant expression a result beyond the largest number does not compile.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr T exp(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  // Results that round to 0 are not computed: on many processors a product that underflows takes a hundred times as long.
  const bool vanishes = x < T(single ? -103.98 : -745.14);
  const auto [n, r] = detail::reduce_exp(select(vanishes, T(0), select(x > T(single ? 89 : 710), T(single ? 89 : 710), x)));
  return select(vanishes, T(0), detail::scale(1 + detail::expm1_of_remainder(r), n));
}

}  // namespace gradual::math
