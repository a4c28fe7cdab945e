#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/moments.hpp>
#include <gradual/optim/trust_ratio.hpp>

namespace gradual {

/// LAMB (You et al. 2020, algorithm 2, with φ the identity): m, v as in Adam; r = m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε) + λp;
/// p ← p − η · ‖p‖/‖r‖ · r, with norms of one parameter each; the ratio is 1 where either norm is 0.
struct Lamb {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weight_decay = 1e-2;
  struct State {
    Var mean, variance;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var mean = detail::moving_average(state.mean, gradient, b1);
    const Var variance = detail::moving_average(state.variance, gradient * gradient, b2);
    const Var divisor = sqrt(variance * detail::bias_correction(b2, step)) + epsilon;
    const Var direction = detail::bias_correction(b1, step) * mean / divisor + weight_decay * parameter;
    const Var ratio = trust_ratio(norm_by_parameter(parameter), norm_by_parameter(direction));
    return update(parameter - learning_rate * ratio * direction, State{mean, variance});
  }
};

}  // namespace gradual
