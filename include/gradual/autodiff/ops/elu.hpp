#pragma once
#include <gradual/autodiff/ops/expm1.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

/// a where positive, else b · (eᵃ − 1), which tends to −b for a → −∞ (Clevert et al. 2016).
struct Elu {
  static constexpr const char* name = "elu";
  static constexpr int arity = 2;
  static constexpr bool costly = true;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0, 0.25}, 0, {0.25, 0}}, {{-0.0, 0.25}, -0.0, {0.25, 0}}, {{special::least, 0.25}, special::least, {1, 0}},
      {{800, 0.25}, 800, {1, 0}}, {{-800, 0.25}, -0.25, {0, -1}}, {{special::inf, 1}, special::inf, {1, 0}},
      {{-special::inf, 0.25}, -0.25, {0, -1}}, {{2, special::nan}, 2, {1, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select(a > T(0), a, b * math::expm1(math::select(a > T(0), T(0), a)));
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    const Var below = where(a > 0.0, 0.0, a);  // else adjoints of the branch not chosen would be infinite
    return {{where(a > 0.0, g, b * exp(below) * g), expm1(below) * g}};
  }
};

constexpr Var elu(Var x, double alpha = 1) { return elementwise<Elu>(x, constant_like(x, alpha)); }

}  // namespace gradual
