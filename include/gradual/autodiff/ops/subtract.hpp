#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// a − b.
struct Subtract {
  static constexpr const char* name = "subtract";
  static constexpr int arity = 2;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{0, 0}, 0, {1, -1}}, {{-0.0, 0}, -0.0, {1, -1}}, {{special::inf, special::inf}, special::nan, {1, -1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a - b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var, Var) { return {{g, -g}}; }
};

constexpr Var operator-(Var a, Var b) { return elementwise<Subtract>(a, b); }

}  // namespace gradual
