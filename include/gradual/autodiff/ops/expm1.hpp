#pragma once
#include <gradual/autodiff/ops/exp.hpp>
#include <gradual/core/math/expm1.hpp>

namespace gradual {

/// eˣ − 1 without cancellation near 0.
struct Expm1 {
  static constexpr const char* name = "expm1";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {1}}, {{special::least}, special::least, {1}}, {{-1000}, -1, {0}},
      {{special::inf}, special::inf, {special::inf}}, {{-special::inf}, -1, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::expm1(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_mul(g, exp(x)); }  // y + 1 would lose small values
};

constexpr Var expm1(Var x) { return elementwise<Expm1>(x); }

}  // namespace gradual
