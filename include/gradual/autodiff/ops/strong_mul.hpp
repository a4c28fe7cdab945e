#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// Exactly 0 where a is 0, else a · b: an adjoint times a derivative that may be infinite.
struct StrongMul {
  static constexpr const char* name = "strong_mul";
  static constexpr int arity = 2;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0, 2}, 0, {2, 0}}, {{0, special::inf}, 0, {special::inf, 0}}, {{0, special::nan}, 0, {special::nan, 0}},
      {{special::inf, 0}, special::nan, {0, special::inf}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select(a == T(0), T(0), a * b);
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) { return {{strong_mul(g, b), strong_mul(g, a)}}; }
};

constexpr Var strong_mul(Var g, Var d) { return elementwise<StrongMul>(g, d); }

}  // namespace gradual
