#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/trust_ratio.hpp>

namespace gradual {

/// LARS (You, Gitman and Ginsburg 2017): the rate of each parameter is ητ‖p‖ / (‖g‖ + λ‖p‖), with its own norms and τ =
/// `trust`; it is η where ‖p‖ or the divisor is 0. v ← μv + rate · (g + λp); p ← p − v.
struct Lars {
  using Ranges = RangesByName;
  Scalar learning_rate = 0.1, momentum = 0.9, trust = 1e-3, weight_decay = 0.0;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var size = norm_by_parameter(parameter), decay = value_of(weight_decay, parameter);
    const Var ratio = trust_ratio(value_of(trust, size) * size, norm_by_parameter(gradient) + decay * size);
    const Var velocity = momentum * state.velocity + learning_rate * ratio * (gradient + decay * parameter);
    return update(parameter - velocity, State{velocity});
  }
};

}  // namespace gradual
