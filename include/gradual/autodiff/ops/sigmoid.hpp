#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/sigmoid.hpp>

namespace gradual {

/// 1/(1 + e⁻ˣ).
struct Sigmoid {
  static constexpr const char* name = "sigmoid";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{0}, 0.5, {0.25}}, {{800}, 1, {0}}, {{-800}, 0, {0}}, {{special::inf}, 1, {0}}, {{-special::inf}, 0, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::sigmoid(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return g * (y * (1.0 - y)); }
};

constexpr Var sigmoid(Var x) { return elementwise<Sigmoid>(x); }

}  // namespace gradual
