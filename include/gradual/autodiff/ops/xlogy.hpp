#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual {

/// a·log(b), and 0 where a is 0 unless b is NaN. At a = 0 the gradient of b is 0, and so is that of a where b ≤ 0.
struct Xlogy {
  static constexpr const char* name = "xlogy";
  static constexpr int arity = 2;
  static constexpr bool costly = true;
  static constexpr Domain domain{0.3, 3};
  static constexpr Special specials[] = {
      {{0, 0}, 0, {0, 0}}, {{0, -1}, 0, {0, 0}}, {{0, 2}, 0, {0.69314718055994531, 0}},
      {{0, 0.5}, 0, {-0.69314718055994531, 0}}, {{2, 0}, -special::inf, {-special::inf, special::inf}},
      {{-1, 0}, special::inf, {-special::inf, -special::inf}}, {{0, special::inf}, 0, {special::inf, 0}},
      {{0, special::nan}, special::nan, {special::nan, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select((a == T(0)) & (b == b), T(0), a * math::log(b));
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    Var outside = (a == 0.0) * (b <= 0.0);
    return {{where(outside, 0.0, strong_mul(g, log(b))), strong_mul(g, strong_divide(a, b))}};
  }
};

constexpr Var xlogy(Var a, Var b) { return elementwise<Xlogy>(a, b); }

}  // namespace gradual
