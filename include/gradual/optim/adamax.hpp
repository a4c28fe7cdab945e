#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// Adamax (section 7.1 of Kingma and Ba 2015), in PyTorch's formulation: m ← β₁m + (1−β₁)g; u ← max(β₂u, |g| + ε);
/// p ← p − η/(1−β₁ᵗ) · m/u.
struct Adamax {
  using Ranges = RangesByName;
  Scalar learning_rate = 2e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  struct State {
    Var mean, norm;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step);
    const Var g = gradient + weight_decay * parameter;
    const Var mean = detail::moving_average(state.mean, g, b1);
    const Var norm = maximum(beta2 * state.norm, abs(g) + epsilon);
    const Var rate = learning_rate * detail::bias_correction(b1, step);
    return update(parameter - rate * mean / norm, State{mean, norm});
  }
};

}  // namespace gradual
