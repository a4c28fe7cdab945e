#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

namespace detail {

struct AdamState {
  Var mean, variance;
};

/// Algorithm 1 of Kingma and Ba 2015 after weight decay: moments, their bias corrections, the step.
template <class Rule>
constexpr Update<AdamState> adam_step(const Rule& rule, Var parameter, Var g, AdamState state, Var step) {
  Var b1 = value_of(rule.beta1, step), b2 = value_of(rule.beta2, step);
  Var mean = moving_average(state.mean, g, b1);
  Var variance = moving_average(state.variance, g * g, b2);
  Var rate = rule.learning_rate * bias_correction(b1, step);
  Var scale = bias_correction(b2, step);
  return {parameter - rate * mean / (sqrt(variance * scale) + rule.epsilon), {mean, variance}};
}

}  // namespace detail

/// Adam (Kingma and Ba 2015): m ← β₁m + (1−β₁)g; v ← β₂v + (1−β₂)g²; p ← p − η · m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + ε).
/// `weight_decay` adds λp to the gradient.
struct Adam {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  using State = detail::AdamState;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    return detail::adam_step(*this, parameter, gradient + weight_decay * parameter, state, step);
  }
};

/// AdamW (Loshchilov and Hutter 2019): Adam, with decay applied to the parameter itself: p ← (1 − ηλ)p first.
struct AdamW {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 1e-2;
  using State = detail::AdamState;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    Var kept = 1.0 - learning_rate * value_of(weight_decay, step);
    return detail::adam_step(*this, parameter * kept, gradient, state, step);
  }
};

}  // namespace gradual
