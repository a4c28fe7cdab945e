#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/exp.hpp>

namespace gradual {

/// eˣ. Where the adjoint is 0 the gradient is 0, even if eˣ overflows.
struct Exp {
  static constexpr const char* name = "exp";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{0}, 1, {1}}, {{special::most}, special::inf, {special::inf}}, {{-special::most}, 0, {0}},
      {{special::inf}, special::inf, {special::inf}}, {{-special::inf}, 0, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::exp(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return strong_mul(g, y); }
};

constexpr Var exp(Var x) { return elementwise<Exp>(x); }

}  // namespace gradual
