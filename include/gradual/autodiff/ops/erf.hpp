#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/erf.hpp>

namespace gradual {

/// The error function 2/√π ∫₀ˣ e^(−t²) dt.
struct Erf {
  static constexpr const char* name = "erf";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {1.1283791670955126}}, {{special::most}, 1, {0}}, {{special::inf}, 1, {0}},
      {{-special::inf}, -1, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::erf(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * (1.1283791670955126 * exp(-(x * x))); }
};

constexpr Var erf(Var x) { return elementwise<Erf>(x); }

}  // namespace gradual
