#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/tanh.hpp>

namespace gradual {

/// Hyperbolic tangent.
struct Tanh {
  static constexpr const char* name = "tanh";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {1}}, {{special::least}, special::least, {1}}, {{special::most}, 1, {0}}, {{special::inf}, 1, {0}},
      {{-special::inf}, -1, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::tanh(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return g * (1.0 - y * y); }
};

constexpr Var tanh(Var x) { return elementwise<Tanh>(x); }

}  // namespace gradual
