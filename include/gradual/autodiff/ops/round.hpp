#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/round.hpp>

namespace gradual {

/// The nearest integer, ties to even. A step function: its gradient is 0.
struct Round {
  static constexpr const char* name = "round";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Special specials[] = {
      {{-0.0}, -0.0}, {{0.5}, 0}, {{-0.5}, -0.0}, {{1.5}, 2}, {{-2.5}, -2}, {{2.75}, 3}, {{special::least}, 0},
      {{-special::least}, -0.0}, {{special::most}, special::most}, {{-special::inf}, -special::inf}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::round(x);
  }
};

constexpr Var round(Var x) { return elementwise<Round>(x); }

}  // namespace gradual
