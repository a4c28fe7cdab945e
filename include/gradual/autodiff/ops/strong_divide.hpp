#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// Exactly 0 where a is 0, else a / b: an adjoint divided by a value that may be 0.
struct StrongDivide {
  static constexpr const char* name = "strong_divide";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0, 0}, 0, {special::inf, 0}}, {{1, 0}, special::inf, {special::inf, -special::inf}},
      {{-1, 0}, -special::inf, {special::inf, special::inf}}, {{0, special::nan}, 0, {special::nan, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select(a == T(0), T(0), a / b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var b, Var y) {
    const Var quotient = strong_divide(g, b), finite = abs(quotient) < __builtin_huge_val();
    const Var bounded = where(finite, quotient, where(y == 0.0, 0.0, quotient));  // 0 stays 0 whatever b is
    return {{quotient, -strong_mul(bounded, y)}};
  }
};

constexpr Var strong_divide(Var g, Var d) { return elementwise<StrongDivide>(g, d); }

}  // namespace gradual
