#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/exp.hpp>

namespace gradual {

/// eˣ.
struct Exp {
  static constexpr const char* name = "exp";
  static constexpr int arity = 1;
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::exp(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return g * y; }
};

constexpr Var exp(Var x) { return elementwise<Exp>(x); }

}  // namespace gradual
