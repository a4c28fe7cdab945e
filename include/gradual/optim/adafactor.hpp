#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// Adafactor (Shazeer and Stern 2018), in PyTorch's formulation, without momentum: keeps only the means of a matrix's squared
/// gradient over its rows and over its columns. With s = t^`variance_decay`: R ← (1−s)R + s·mean(g², columns);
/// C ← (1−s)C + s·mean(g², rows); V = RC / max(mean(R), ε₁); u = g / √max(V, ε₁²);
/// p ← (1 − ηλ)p − max(ε₂, rms(p)) · min(η, 1/√t) / max(1, rms(u)/d) · u, with rms(p) before decay and d = `clipping`.
/// If there are more than two axes, the last two form a matrix; with fewer, V ← (1−s)V + sg² is kept in place of R.
struct Adafactor {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-2, variance_decay = -0.8, epsilon1 = 0x1p-23, epsilon2 = 1e-3, clipping = 1.0,
         weight_decay = 0.0;
  struct State {
    Var rows, columns;
  };
  static constexpr Shape state_shape(int index, const Shape& parameter) {
    if (parameter.rank < 2) return index == 0 ? parameter : Shape{0};
    Shape kept = parameter;
    kept.extent[parameter.rank - (index == 0 ? 1 : 2)] = 1;
    return kept;
  }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var share = pow(step, value_of(variance_decay, step)), least = value_of(epsilon1, step);
    const auto mixed = [&](Var kept, Var seen) { return (1.0 - share) * kept + share * seen; };
    const auto by_row = [&](Var kept, Var g) { return mixed(kept, g.shape().rank < 2 ? g * g : mean(g * g, {-1}, true)); };
    const auto by_column = [&](Var kept, Var g) { return g.shape().rank < 2 ? kept : mixed(kept, mean(g * g, {-2}, true)); };
    const Var rows = by_parameter(by_row, state.rows, gradient), columns = by_parameter(by_column, state.columns, gradient);
    const Var rate = value_of(learning_rate, step), shortest = value_of(epsilon2, step), longest = value_of(clipping, step);
    const Var slowing = minimum(rate, 1.0 / sqrt(step)), kept = 1.0 - rate * value_of(weight_decay, step);
    const auto moved = [&](Var p, Var g, Var r, Var c) {
      const Var variance = g.shape().rank < 2 ? r : r * c / maximum(mean(r, {-2}, true), least);
      const Var u = g / sqrt(maximum(variance, least * least));
      const double root = math::sqrt(static_cast<double>(p.shape().unit()));
      const Var length = maximum(shortest, parameter_norm(p) / root) * slowing;
      return kept * p - length / maximum(constant_like(length, 1), parameter_norm(u) / (root * longest)) * u;
    };
    return update(by_parameter(moved, parameter, gradient, rows, columns), State{rows, columns});
  }
};

}  // namespace gradual
