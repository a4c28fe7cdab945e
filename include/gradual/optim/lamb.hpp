#pragma once
#include <gradual/autodiff/ops/pow.hpp>
#include <gradual/optim/trust_ratio.hpp>

namespace gradual {

/// LAMB (You et al. 2020, algorithm 2, with φ the identity): m, v as in Adam; r = m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε) + λp;
/// p ← p − η · ‖p‖/‖r‖ · r, norms being those of one parameter; the ratio is 1 where either norm is 0.
struct Lamb {
  Scalar learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f, weight_decay = 1e-2f;
  struct State {
    Var mean, variance;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var mean = b1 * state.mean + (1.0 - b1) * gradient;
    const Var variance = b2 * state.variance + (1.0 - b2) * (gradient * gradient);
    const Var divisor = sqrt(variance * (1.0 / (1.0 - pow(b2, step)))) + epsilon;
    const Var direction = 1.0 / (1.0 - pow(b1, step)) * mean / divisor + weight_decay * parameter;
    const Var ratio = trust_ratio(norm_by_parameter(parameter), norm_by_parameter(direction));
    return update(parameter - learning_rate * ratio * direction, State{mean, variance});
  }
};

}  // namespace gradual
