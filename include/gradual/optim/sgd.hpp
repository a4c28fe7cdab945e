#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Stochastic gradient descent with momentum, Nesterov's look-ahead and L2 weight decay, in PyTorch's formulation:
/// g ← g + λp; v ← μv + g; p ← p − η(g + μv with Nesterov, else v).
struct Sgd {
  Scalar learning_rate = 0.1f, momentum = 0.0f, weight_decay = 0.0f;
  bool nesterov = false;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    Var g = gradient + weight_decay * parameter;
    Var velocity = momentum * state.velocity + g;
    Var ahead = where(value_of(nesterov ? 1 : 0, g) == 1.0, g + momentum * velocity, velocity);
    return update(parameter - learning_rate * ahead, State{velocity});
  }
};

}  // namespace gradual
