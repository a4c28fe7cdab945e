#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// 1 where x is positive, −1 where it is negative; zeros and NaN stay. A step function: its gradient is 0.
struct Sign {
  static constexpr const char* name = "sign";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Special specials[] = {
      {{0}, 0}, {{-0.0}, -0.0}, {{special::least}, 1}, {{-special::least}, -1}, {{special::inf}, 1}, {{-special::inf}, -1}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::select(math::abs(x) > T(0), math::copysign(T(1), x), x);
  }
};

constexpr Var sign(Var x) { return elementwise<Sign>(x); }

}  // namespace gradual
