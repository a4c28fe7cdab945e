#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// x where positive, else 0; NaN stays. Gradient 0 at 0.
struct Relu {
  static constexpr const char* name = "relu";
  static constexpr int arity = 1;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0}, 0, {0}}, {{-0.0}, 0, {0}}, {{special::least}, special::least, {1}}, {{-special::least}, 0, {0}},
      {{special::inf}, special::inf, {1}}, {{-special::inf}, 0, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::select(x <= T(0), T(0), x);
  }
  static constexpr Var vjp(Var g, Var, Var y) { return where(y > 0.0, g, 0.0); }
};

constexpr Var relu(Var x) { return elementwise<Relu>(x); }

}  // namespace gradual
