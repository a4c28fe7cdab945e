#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/quotient.hpp>

namespace gradual {

/// a/b for positive normal b, where it is known to be that: several times the speed of `/`, which serves every b.
struct Quotient {
  static constexpr const char* name = "quotient";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = 0.3, .high = 3};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::quotient(a, b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var b, Var y) { return {{quotient(g, b), -quotient(g * y, b)}}; }
};

constexpr Var quotient(Var a, Var b) { return elementwise<Quotient>(a, b); }

}  // namespace gradual
