#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// 1 where a <= b, else 0; false where either is NaN. Not differentiable.
struct LessEqual {
  static constexpr const char* name = "less_equal";
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
  static constexpr bool takes_integers = true;
  static constexpr Special specials[] = {
      {{0, -0.0}, 1}, {{special::least, 0}, 0}, {{special::after_one, 1}, 0}, {{special::inf, special::inf}, 1},
      {{special::nan, 2}, 0}, {{2, special::nan}, 0}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::one_where<T>(a <= b);
  }
};

constexpr Var operator<=(Var a, Var b) { return elementwise<LessEqual>(a, b); }

}  // namespace gradual
