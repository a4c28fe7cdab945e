#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// The smaller of a and b; NaN wins. Equal operands get half of the adjoint each.
struct Minimum {
  static constexpr const char* name = "minimum";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_ties = true};
  static constexpr Special specials[] = {
      {{3, 3}, 3, {0.5, 0.5}}, {{0, -0.0}, -0.0, {0.5, 0.5}}, {{-0.0, 0}, 0, {0.5, 0.5}},
      {{special::after_one, 1}, 1, {0, 1}}, {{1, special::after_one}, 1, {1, 0}},
      {{-special::inf, special::inf}, -special::inf, {1, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select((a < b) | (a != a), a, b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    Var shared = where(a == b, 0.5 * g, g);
    return {{where(b < a, 0.0, shared), where(a < b, 0.0, shared)}};
  }
};

constexpr Var minimum(Var a, Var b) { return elementwise<Minimum>(a, b); }
constexpr Var minimum(Var a, double b) { return minimum(a, constant_like(a, b)); }
constexpr Var minimum(double a, Var b) { return minimum(constant_like(b, a), b); }

}  // namespace gradual
