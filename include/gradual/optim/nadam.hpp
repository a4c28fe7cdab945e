#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// NAdam (Dozat 2016), in PyTorch's formulation: Adam whose mean looks one step ahead. With μ_t = β₁(1 − ½·0.96^(tψ)),
/// ψ = `momentum_decay`, and Π_t the product of all μ up to t: m, v as in Adam; d = √(v/(1−β₂ᵗ)) + ε;
/// p ← p − η(1−μ_t)/(1−Π_t) · g/d − ημ_{t+1}/(1−Π_{t+1}) · m/d. `weight_decay` adds λp to the gradient.
struct NAdam {
  using Ranges = RangesByName;
  Scalar learning_rate = 2e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0, momentum_decay = 4e-3;
  struct State {
    Var mean, variance, product;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var g = gradient + weight_decay * parameter, b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var psi = value_of(momentum_decay, step), base = constant_like(step, 0.96);
    const Var now = b1 * (1.0 - 0.5 * pow(base, step * psi)), next = b1 * (1.0 - 0.5 * pow(base, (step + 1.0) * psi));
    const Var product = where(step == 1.0, 1.0, state.product) * now;
    const Var mean = detail::moving_average(state.mean, g, b1);
    const Var variance = detail::moving_average(state.variance, g * g, b2);
    const Var divisor = sqrt(variance * detail::bias_correction(b2, step)) + epsilon;
    const Var here = learning_rate * ((1.0 - now) / (1.0 - product)), ahead = learning_rate * (next / (1.0 - product * next));
    return update(parameter - here * g / divisor - ahead * mean / divisor, State{mean, variance, product});
  }
};

}  // namespace gradual
