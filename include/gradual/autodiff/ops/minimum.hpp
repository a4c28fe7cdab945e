#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// The smaller of a and b; NaN wins. Equal operands share the adjoint.
struct Minimum {
  static constexpr const char* name = "minimum";
  static constexpr int arity = 2;
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    Var share = (a < b) + 0.5 * (a == b);
    return {{g * share, g * (1.0 - share)}};
  }
};

constexpr Var minimum(Var a, Var b) { return elementwise<Minimum>(a, b); }

}  // namespace gradual
