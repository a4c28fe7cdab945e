#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/quotient.hpp>

namespace gradual {

/// a/b for b known to lie between 2^-126 and 2^126: faster than `/`, which takes any b, where one b divides many a (ADR 8).
struct Quotient {
  static constexpr const char* name = "quotient";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = 0.3, .high = 3};
  static constexpr bool partial = true;  ///< undefined for other b
  static constexpr Special specials[] = {{{0, 2}, 0, {0.5, 0}}, {{1, 2}, 0.5, {0.5, -0.25}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::quotient(a, b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var, Var b, Var y) { return {{quotient(g, b), -quotient(g * y, b)}}; }
};

constexpr Var quotient(Var a, Var b) { return elementwise<Quotient>(a, b); }

}  // namespace gradual
