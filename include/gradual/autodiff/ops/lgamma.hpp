#pragma once
#include <gradual/autodiff/ops/digamma.hpp>
#include <gradual/core/math/lgamma.hpp>

namespace gradual {

/// log Γ(x) for x > 0, inf at 0, NaN below; log n! is its value at n + 1.
struct Lgamma {
  static constexpr const char* name = "lgamma";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{0.3, 12};
  static constexpr Special specials[] = {
      {{0}, special::inf, {-special::inf}}, {{-0.0}, special::inf, {-special::inf}},
      {{1}, 0, {-0.5772156649015329}}, {{2}, 0, {0.42278433509846714}}, {{-1}, special::nan, {special::nan}},
      {{special::inf}, special::inf, {special::inf}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::lgamma(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_mul(g, digamma(x)); }
};

constexpr Var lgamma(Var x) { return elementwise<Lgamma>(x); }

}  // namespace gradual
