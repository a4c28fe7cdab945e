#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/cos.hpp>

namespace gradual {

/// The cosine, of radians.
struct Cos {
  static constexpr const char* name = "cos";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {{{0}, 1, {0}}, {{special::inf}, special::nan, {special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::cos(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return -(g * sin(x)); }
};

constexpr Var cos(Var x) { return elementwise<Cos>(x); }

}  // namespace gradual
