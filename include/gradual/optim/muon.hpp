#pragma once
#include <gradual/optim/adam.hpp>
#include <gradual/optim/by_parameter.hpp>

namespace gradual {

/// Returns roughly the orthogonal matrix nearest to a matrix of full rank: five steps of X ← aX + (bA + cA²)X, A = XXᵀ, from X
/// of norm 1, which bring singular values near 1 (between 0.7 and 1.2; Jordan et al. 2024).
constexpr Var orthogonalized(Var matrix) {
  if (!matrix.valid()) return {};
  const bool tall = matrix.shape().extent[0] > matrix.shape().extent[1];
  const Var norm = parameter_norm(matrix);
  Var x = matrix / maximum(norm, constant_like(norm, 1e-7));
  for (int i = 0; i < 5; ++i) {  // A is symmetric; for a tall matrix it is XᵀX, the smaller one
    const Var square = matmul(x, x, tall, !tall);
    const Var factor = -4.7750 * square + 2.0315 * matmul(square, square);
    x = 3.4445 * x + (tall ? matmul(x, factor) : matmul(factor, x));
  }
  return x;
}

/// Muon (Jordan et al. 2024): for parameters of two axes, [in, out], m ← μm + g; p ← (1 − ηλ)p − η√max(1, out/in) · O, where
/// O is g + μm (without Nesterov: m), made orthogonal. All other parameters are updated by `others`.
struct Muon {
  using Ranges = RangesByName;
  Scalar learning_rate = 0.02, momentum = 0.95, weight_decay = 0.0;
  bool nesterov = true;
  AdamW others{.learning_rate = 3e-4, .beta2 = 0.95, .weight_decay = 0.0};
  using State = detail::AdamState;  ///< m is the mean; matrices need no variance
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var rate = value_of(learning_rate, step), mu = value_of(momentum, step);
    const Var velocity = mu * state.mean + gradient;
    const Var ahead = where(value_of(nesterov ? 1 : 0, step) == 1.0, gradient + mu * velocity, velocity);
    const Var direction = by_parameter(
        [](Var part) {
          if (part.shape().rank != 2) return part;
          const auto rows = static_cast<double>(part.shape().extent[0]), columns = static_cast<double>(part.shape().extent[1]);
          return orthogonalized(part) * math::sqrt(columns > rows ? columns / rows : 1.0);
        },
        ahead);
    const Var moved = (1.0 - rate * value_of(weight_decay, step)) * parameter - rate * direction;
    const auto other = others(parameter, gradient, state, step);
    const auto choose = [](Var matrix, Var vector) { return matrix.shape().rank == 2 ? matrix : vector; };
    return update(
        by_parameter(choose, moved, other.parameter),
        State{by_parameter(choose, velocity, other.state.mean), by_parameter(choose, state.variance, other.state.variance)});
  }
};

}  // namespace gradual
