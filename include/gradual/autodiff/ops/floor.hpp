#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/floor.hpp>

namespace gradual {

/// The largest integer not above x. A step function: its gradient is 0.
struct Floor {
  static constexpr const char* name = "floor";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Special specials[] = {
      {{-0.0}, -0.0}, {{special::least}, 0}, {{-special::least}, -1}, {{2.75}, 2}, {{-2.25}, -3}, {{-3}, -3},
      {{special::most}, special::most}, {{special::inf}, special::inf}, {{-special::inf}, -special::inf}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::floor(x);
  }
};

constexpr Var floor(Var x) { return elementwise<Floor>(x); }

}  // namespace gradual
