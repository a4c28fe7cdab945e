#pragma once
#include <gradual/autodiff/ops/maximum.hpp>
#include <gradual/autodiff/ops/pow.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// AMSGrad (Reddi, Kale and Kumar 2018), in PyTorch's formulation: Adam, with the largest v so far in place of v.
struct AmsGrad {
  Scalar learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.0f;
  struct State {
    Var mean, variance, largest;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var g = gradient + weight_decay * parameter;
    const Var mean = b1 * state.mean + (1.0 - b1) * g;
    const Var variance = b2 * state.variance + (1.0 - b2) * (g * g);
    const Var largest = maximum(state.largest, variance);
    const Var rate = learning_rate * (1.0 / (1.0 - pow(b1, step)));
    const Var scale = 1.0 / (1.0 - pow(b2, step));
    return update(parameter - rate * mean / (sqrt(largest * scale) + epsilon), State{mean, variance, largest});
  }
};

}  // namespace gradual
