#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// |x|; gradient 0 at 0.
struct Abs {
  static constexpr const char* name = "abs";
  static constexpr int arity = 1;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0}, 0, {0}}, {{-0.0}, 0, {0}}, {{special::least}, special::least, {1}},
      {{-special::least}, special::least, {-1}}, {{-special::inf}, special::inf, {-1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::abs(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) {
    return where(x > 0.0, g, where(x < 0.0, -g, 0.0));
  }
};

constexpr Var abs(Var x) { return elementwise<Abs>(x); }

}  // namespace gradual
