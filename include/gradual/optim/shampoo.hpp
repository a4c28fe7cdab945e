#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/inverse_fourth_root.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// Shampoo (Gupta, Koren and Singer 2018): for matrices L ← L + ggᵀ; R ← R + gᵀg; p ← p − η · L^(−1/4) g R^(−1/4). Both roots
/// are damped: dλI is added, with λ the largest absolute row sum and d = max(`damping`, 10⁻⁵); see `inverse_fourth_root` for
/// the method and its error. All other parameters, and matrices with a side longer than `Longest`, take the diagonal form:
/// s ← s + g²; p ← p − η · g/(√s + 10⁻¹⁰). `weight_decay` times p is added to the gradient. A matrix [m, n] has m² + n² floats
/// of state; a step takes 28 products of m × m by m × m, 28 of n × n by n × n and 4 with g:
/// 56(m³ + n³) + 4mn(m + n) floating-point operations.
template <int Longest>
struct ShampooOf {
  using Ranges = RangesByName;
  Scalar learning_rate = 0.3, damping = 1e-4, weight_decay = 0.0;
  struct State {
    Var left, right;  ///< L and R; in the diagonal form left is s
  };
  static constexpr bool has_sides(const Shape& parameter) {
    return parameter.rank == 2 && parameter.extent[0] <= Longest && parameter.extent[1] <= Longest;
  }
  static constexpr Shape state_shape(int index, const Shape& parameter) {
    if (!has_sides(parameter)) return index == 0 ? parameter : Shape{0};
    return Shape{parameter.extent[index], parameter.extent[index]};
  }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var all = gradient + weight_decay * parameter;
    const auto to_left = [](Var l, Var g) { return l + (has_sides(g.shape()) ? matmul(g, g, false, true) : g * g); };
    const auto to_right = [](Var r, Var g) { return has_sides(g.shape()) ? r + matmul(g, g, true, false) : r; };
    const Var left = by_parameter(to_left, state.left, all), right = by_parameter(to_right, state.right, all);
    const Var rate = value_of(learning_rate, step), wanted = value_of(damping, step);
    const Var d = maximum(wanted, constant_like(wanted, detail::RootSteps::least_damping));
    const auto moved = [&](Var p, Var g, Var l, Var r) {
      if (!has_sides(p.shape())) return p - rate * g / (sqrt(l) + 1e-10);
      return p - rate * matmul(matmul(inverse_fourth_root(l, d), g), inverse_fourth_root(r, d));
    };
    return update(by_parameter(moved, parameter, all, left, right), State{left, right});
  }
};
using Shampoo = ShampooOf<1024>;

}  // namespace gradual
