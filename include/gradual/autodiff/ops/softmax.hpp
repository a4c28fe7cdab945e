#pragma once
#include <gradual/autodiff/ops/max.hpp>
#include <gradual/autodiff/ops/sum.hpp>

namespace gradual {

/// Stops differentiation: the value of x, whose adjoint goes nowhere.
struct StopGradient {
  static constexpr const char* name = "stop_gradient";
  static constexpr int arity = 1;
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x;
  }
};

constexpr Var stop_gradient(Var x) {
  return x.valid() ? x.tape->record(op_info<StopGradient>, {x}, x.shape(), x.dtype()) : x;
}

/// log Σ exp(x) over the last axis, shifted by the maximum.
constexpr Var logsumexp(Var x) {
  Var shift = stop_gradient(max(x, {-1}, true));
  return log(sum(exp(x - shift), {-1}, true)) + shift;
}

/// exp(x)/Σ exp(x) over the last axis.
constexpr Var softmax(Var x) {
  Var e = exp(x - stop_gradient(max(x, {-1}, true)));
  return e / sum(e, {-1}, true);
}

constexpr Var log_softmax(Var x) { return x - logsumexp(x); }

}  // namespace gradual
