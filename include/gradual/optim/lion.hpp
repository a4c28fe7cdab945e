#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// Lion (Chen et al. 2023): p ← (1 − ηλ)p − η sign(β₁m + (1−β₁)g); m ← β₂m + (1−β₂)g. The sign of 0 is 0.
struct Lion {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0.0;
  struct State {
    Var mean;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var b1 = value_of(beta1, step), b2 = value_of(beta2, step), rate = value_of(learning_rate, step);
    const Var direction = detail::moving_average(state.mean, gradient, b1);
    const Var sign = (direction > 0.0) - (direction < 0.0);
    const Var kept = parameter * (1.0 - rate * value_of(weight_decay, step));
    return update(kept - rate * sign, State{detail::moving_average(state.mean, gradient, b2)});
  }
};

}  // namespace gradual
