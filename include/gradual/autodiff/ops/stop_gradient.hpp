#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// Stops differentiation: the value of x, whose adjoint goes nowhere.
struct StopGradient {
  static constexpr const char* name = "stop_gradient";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Special specials[] = {{{-0.0}, -0.0, {0}}, {{special::inf}, special::inf, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x;
  }
};

constexpr Var stop_gradient(Var x) {
  return detail::given(StopGradient::name, {x}) ? x.tape->record(op_info<StopGradient>, {x}, x.shape(), x.dtype()) : x;
}

}  // namespace gradual
