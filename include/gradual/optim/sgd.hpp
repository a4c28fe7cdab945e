#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Stochastic gradient descent with momentum (Polyak 1964), Nesterov's look-ahead (1983; Sutskever et al. 2013) and L2
/// weight decay, in PyTorch's formulation:
/// g ← g + λp; v ← μv + (1−τ)g, in the first step v ← g; p ← p − η(g + μv with Nesterov, else v). Without momentum
/// `dampening` must be 0.
struct Sgd {
  using Ranges = RangesByName;
  Scalar learning_rate = 0.1, momentum = 0.0, weight_decay = 0.0, dampening = 0.0;
  bool nesterov = false;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    Var g = gradient + weight_decay * parameter;
    Var share = where(step == 1.0, 1.0, 1.0 - value_of(dampening, step));
    Var velocity = momentum * state.velocity + share * g;
    Var ahead = where(value_of(nesterov ? 1 : 0, g) == 1.0, g + momentum * velocity, velocity);
    return update(parameter - learning_rate * ahead, State{velocity});
  }
};

}  // namespace gradual
