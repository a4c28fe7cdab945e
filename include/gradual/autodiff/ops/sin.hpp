#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/sin.hpp>

namespace gradual {

/// The sine, of radians.
struct Sin {
  static constexpr const char* name = "sin";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {1}}, {{special::least}, special::least, {1}}, {{special::inf}, special::nan, {special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::sin(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * cos(x); }
};

constexpr Var sin(Var x) { return elementwise<Sin>(x); }

}  // namespace gradual
