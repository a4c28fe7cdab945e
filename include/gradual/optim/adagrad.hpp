#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Adagrad (Duchi, Hazan and Singer 2011), in PyTorch's formulation: s ← s + g²; p ← p − η/(1 + (t−1)δ) · g/(√s + ε),
/// with δ = `learning_rate_decay`.
struct Adagrad {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-2, learning_rate_decay = 0.0, epsilon = 1e-10, weight_decay = 0.0;
  struct State {
    Var sum;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var g = gradient + weight_decay * parameter;
    const Var sum = state.sum + g * g;
    const Var rate = value_of(learning_rate, step) / (1.0 + learning_rate_decay * (step - 1.0));
    return update(parameter - rate * g / (sqrt(sum) + epsilon), State{sum});
  }
};

}  // namespace gradual
