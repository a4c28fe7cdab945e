#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// a / b.
struct Divide {
  static constexpr const char* name = "divide";
  static constexpr int arity = 2;
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a / b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var b, Var y) { return {{g / b, -(g / b) * y}}; }
};

constexpr Var operator/(Var a, Var b) { return elementwise<Divide>(a, b); }

}  // namespace gradual
