#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/log1p.hpp>

namespace gradual {

/// log(1 + x) without cancellation near 0; log1p(−1) = −inf, with gradient +inf unless the adjoint is 0.
struct Log1p {
  static constexpr const char* name = "log1p";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-0.7, 3};
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {1}}, {{special::least}, special::least, {1}}, {{-1}, -special::inf, {special::inf}},
      {{-2}, special::nan, {-1}}, {{special::inf}, special::inf, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::log1p(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_divide(g, 1.0 + x); }
};

constexpr Var log1p(Var x) { return elementwise<Log1p>(x); }

}  // namespace gradual
