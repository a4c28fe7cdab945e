#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// −x.
struct Negate {
  static constexpr const char* name = "negate";
  static constexpr int arity = 1;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {{{0}, -0.0, {-1}}, {{-0.0}, 0, {-1}}, {{special::inf}, -special::inf, {-1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return -x;
  }
  static constexpr Var vjp(Var g, Var, Var) { return -g; }
};

constexpr Var operator-(Var x) { return elementwise<Negate>(x); }

}  // namespace gradual
