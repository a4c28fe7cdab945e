#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/sqrt.hpp>

namespace gradual {

/// √x; gradient +inf at 0 unless the adjoint is 0.
struct Sqrt {
  static constexpr const char* name = "sqrt";
  static constexpr int arity = 1;
  static constexpr Domain domain{0.3, 3};
  static constexpr Special specials[] = {
      {{0}, 0, {special::inf}}, {{-0.0}, -0.0, {-special::inf}}, {{-1}, special::nan, {special::nan}},
      {{special::inf}, special::inf, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::sqrt(x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return strong_divide(0.5 * g, y); }
};

constexpr Var sqrt(Var x) { return elementwise<Sqrt>(x); }

}  // namespace gradual
