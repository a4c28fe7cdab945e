#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// Adadelta (Zeiler 2012), in PyTorch's formulation: v ← ρv + (1−ρ)g²; d = g·√(u + ε)/√(v + ε); u ← ρu + (1−ρ)d²;
/// p ← p − ηd.
struct Adadelta {
  using Ranges = RangesByName;
  Scalar learning_rate = 1.0, rho = 0.9, epsilon = 1e-6, weight_decay = 0.0;
  struct State {
    Var square, change;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var r = value_of(rho, gradient), e = value_of(epsilon, gradient);
    const Var g = gradient + weight_decay * parameter;
    const Var square = detail::moving_average(state.square, g * g, r);
    const Var delta = g * sqrt(state.change + e) / sqrt(square + e);
    const Var change = detail::moving_average(state.change, delta * delta, r);
    return update(parameter - learning_rate * delta, State{square, change});
  }
};

}  // namespace gradual
