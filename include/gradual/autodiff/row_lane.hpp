#pragma once
#include <cstdint>
#include <type_traits>

#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/core/config.hpp>

namespace gradual {

/// One lane of an argmax: the first largest value so far, NaN being the largest.
template <class T>
struct Best {
  T value;
  std::int32_t index;
};
template <class T>
GRADUAL_HD constexpr Best<T> better(Best<T> a, Best<T> b) {
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  const bool ties = (b.value == a.value) | (nan_a & nan_b);
  const bool b_wins = (b.value > a.value) | (ties & (b.index < a.index)) | (nan_b & !nan_a);
  return {b_wins ? b.value : a.value, b_wins ? b.index : a.index};
}

/// One lane of a row reduction of T: its initial value, and how two lanes are joined.
template <class Op, class T>
struct RowLane {
  static constexpr bool is_argmax = std::is_same_v<Op, ArgMax>;
  using type = std::conditional_t<is_argmax, Best<T>, T>;
  GRADUAL_HD GRADUAL_INLINE static type identity() {
    if constexpr (is_argmax) return {-__builtin_huge_valf(), 0x7fffffff};
    else return static_cast<type>(Op::identity);
  }
  GRADUAL_HD GRADUAL_INLINE static type join(type a, type b) {
    if constexpr (is_argmax) return better(a, b);
    else return Op::apply(a, b);
  }
  GRADUAL_HD GRADUAL_INLINE static type of(T x, std::int64_t column) {
    if constexpr (is_argmax) return {x, static_cast<std::int32_t>(column)};
    else return x;
  }
  GRADUAL_HD GRADUAL_INLINE static auto result(type lane) {
    if constexpr (is_argmax) return lane.index;
    else return lane;
  }
};

}  // namespace gradual
