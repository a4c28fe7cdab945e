#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// AMSGrad (Reddi, Kale and Kumar 2018), in PyTorch's formulation: Adam, with the largest v so far in place of v.
struct AmsGrad {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  struct State {
    Var mean, variance, largest;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var g = gradient + weight_decay * parameter;
    const Var mean = detail::moving_average(state.mean, g, b1);
    const Var variance = detail::moving_average(state.variance, g * g, b2);
    const Var largest = maximum(state.largest, variance);
    const Var rate = learning_rate * detail::bias_correction(b1, step);
    const Var scale = detail::bias_correction(b2, step);
    return update(parameter - rate * mean / (sqrt(largest * scale) + epsilon), State{mean, variance, largest});
  }
};

}  // namespace gradual
