#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/pow.hpp>

namespace gradual {

/// a to the power b, with IEEE's special cases; both gradients of 0⁰ are 0.
struct Pow {
  static constexpr const char* name = "pow";
  static constexpr int arity = 2;
  static constexpr bool costly = true;
  static constexpr Domain domain{0.3, 3};
  static constexpr Special specials[] = {
      {{0, 0}, 1, {0, 0}}, {{0, -1}, special::inf, {-special::inf, -special::inf}}, {{0, 0.5}, 0, {special::inf, 0}},
      {{-0.0, 3}, -0.0, {0, 0}}, {{-2, 3}, -8, {12, special::nan}},
      {{-2, 0.5}, special::nan, {special::nan, special::nan}}, {{special::nan, 0}, 1, {0, special::nan}},
      {{1, special::nan}, 1, {special::nan, 0}}, {{2, special::inf}, special::inf, {special::inf, special::inf}},
      {{-1, special::inf}, 1, {special::inf, special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::pow(a, b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var y);
};

constexpr Var pow(Var a, Var b) { return elementwise<Pow>(a, b); }
constexpr Var pow(Var a, double b) { return pow(a, constant_like(a, b)); }
constexpr Var pow(double a, Var b) { return pow(constant_like(b, a), b); }

constexpr Adjoints<2> Pow::vjp(Var g, Var a, Var b, Var y) {
  // The branch not chosen is finite, so that second derivatives are too. At b = 0 the derivative by a is 0, and its derivative
  // by b is 1/a.
  const Var vanishes = (a == 0.0) * (b >= 0.0);
  const Var base = strong_mul(b, pow(a, b - 1.0));
  const Var exponent = where(vanishes, 0.0, y * log(where(vanishes, 1.0, a)));
  return {{strong_mul(g, base), strong_mul(g, exponent)}};
}

}  // namespace gradual
