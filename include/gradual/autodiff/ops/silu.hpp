#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/sigmoid.hpp>

namespace gradual {

/// x · sigmoid(x) (Elfwing et al. 2018), also called swish.
struct Silu {
  static constexpr const char* name = "silu";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {0.5}}, {{800}, 800, {1}}, {{-800}, -0.0, {0}}, {{special::inf}, special::inf, {special::nan}},
      {{-special::inf}, special::nan, {special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * math::sigmoid(x);
  }
  static constexpr Var vjp(Var g, Var x, Var y) {
    Var s = sigmoid(x);
    return g * (s + y * (1.0 - s));
  }
};

constexpr Var silu(Var x) { return elementwise<Silu>(x); }

}  // namespace gradual
