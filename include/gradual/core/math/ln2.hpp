#pragma once

#include <type_traits>

namespace gradual::math::detail {

// ln 2 as the sum of two numbers: the nearest one, and the one nearest to the remainder.
template <class T> inline constexpr T ln2_high = std::is_same_v<T, float> ? T(0x1.62e43p-1f) : T(0x1.62e42fefa39efp-1);
template <class T>
inline constexpr T ln2_low = std::is_same_v<T, float> ? T(-0x1.05c61p-29f) : T(0x1.abc9e3b39803fp-56);

}  // namespace gradual::math::detail
