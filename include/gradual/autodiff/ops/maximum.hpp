#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// The larger of a and b; NaN wins. Equal operands get half of the adjoint each.
struct Maximum {
  static constexpr const char* name = "maximum";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_ties = true};
  static constexpr Special specials[] = {
      {{3, 3}, 3, {0.5, 0.5}}, {{0, -0.0}, -0.0, {0.5, 0.5}}, {{-0.0, 0}, 0, {0.5, 0.5}},
      {{special::after_one, 1}, special::after_one, {1, 0}}, {{1, special::after_one}, special::after_one, {0, 1}},
      {{-special::inf, special::inf}, special::inf, {0, 1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select((a > b) | (a != a), a, b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    Var shared = where(a == b, 0.5 * g, g);
    return {{where(a < b, 0.0, shared), where(b < a, 0.0, shared)}};
  }
};

constexpr Var maximum(Var a, Var b) { return elementwise<Maximum>(a, b); }
constexpr Var maximum(Var a, double b) { return maximum(a, constant_like(a, b)); }
constexpr Var maximum(double a, Var b) { return maximum(constant_like(b, a), b); }

}  // namespace gradual
