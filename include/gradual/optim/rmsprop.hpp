#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// RMSprop (Tieleman and Hinton 2012), in PyTorch's formulation: v ← αv + (1−α)g²; b ← μb + g/(√v + ε); p ← p − ηb.
/// `centered` divides by the deviation instead, √(v − m²) with m the mean of g (Graves 2013); v − m² counts as 0 where rounding
/// makes it negative.
struct RmsProp {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-2, alpha = 0.99, epsilon = 1e-8, momentum = 0.0, weight_decay = 0.0;
  bool centered = false;
  struct State {
    Var square, mean, velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var a = value_of(alpha, gradient);
    const Var g = gradient + weight_decay * parameter;
    const Var square = detail::moving_average(state.square, g * g, a);
    const Var mean = detail::moving_average(state.mean, g, a);
    const Var center = where(value_of(centered ? 1 : 0, g) == 1.0, mean * mean, 0.0);
    const Var velocity =
        momentum * state.velocity + g / (sqrt(maximum(square - center, constant_like(square, 0))) + epsilon);
    return update(parameter - learning_rate * velocity, State{square, mean, velocity});
  }
};

}  // namespace gradual
