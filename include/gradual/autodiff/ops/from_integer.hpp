#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// An int32 as a float, rounded beyond 2^24. Not differentiable.
struct FromInteger {
  static constexpr const char* name = "from_integer";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr bool takes_integers = true;
  static constexpr Special specials[] = {{{-0.0}, -0.0}, {{-3}, -3}, {{special::inf}, special::inf}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x;
  }
};

}  // namespace gradual
