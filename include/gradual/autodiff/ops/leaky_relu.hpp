#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// a where positive, else b · a with slope b; at 0 the gradient is the slope.
struct LeakyRelu {
  static constexpr const char* name = "leaky_relu";
  static constexpr int arity = 2;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0, 0.25}, 0, {0.25, 0}}, {{-0.0, 0.25}, -0.0, {0.25, 0}}, {{special::least, 0.25}, special::least, {1, 0}},
      {{-special::least, 1}, -special::least, {1, -special::least}},
      {{-special::inf, 0.25}, -special::inf, {0.25, -special::inf}},
      {{-special::inf, 0}, special::nan, {0, -special::inf}}, {{2, special::nan}, 2, {1, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select(a > T(0), a, b * a);
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    return {{where(a > 0.0, g, b * g), where(a > 0.0, 0.0, a * g)}};
  }
};

constexpr Var leaky_relu(Var x, double slope = 0.01) { return elementwise<LeakyRelu>(x, constant_like(x, slope)); }

}  // namespace gradual
