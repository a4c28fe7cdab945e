#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// a / b. At b = 0 the gradients are infinite, and 0 where the adjoint is 0.
struct Divide {
  static constexpr const char* name = "divide";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{1, 0}, special::inf, {special::inf, -special::inf}}, {{1, -0.0}, -special::inf, {-special::inf, -special::inf}},
      {{0, 0}, special::nan, {special::inf, special::nan}}, {{1, special::inf}, 0, {0, 0}},
      {{special::inf, special::inf}, special::nan, {0, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a / b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var b, Var y) {
    Var quotient = strong_divide(g, b);
    return {{quotient, -strong_mul(quotient, y)}};
  }
};

constexpr Var operator/(Var a, Var b) { return elementwise<Divide>(a, b); }

}  // namespace gradual
