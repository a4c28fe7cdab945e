#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {

/// How far the parameters moved in one step, and how much the gradient changed.
struct CurvaturePair {
  Var step, change;
};
/// The last `Pairs` of them, newest first.
template <int Pairs>
struct CurvaturePairs {
  CurvaturePair newest;
  CurvaturePairs<Pairs - 1> older;
};
template <>
struct CurvaturePairs<1> {
  CurvaturePair newest;
};

constexpr Var dot(Var a, Var b) { return sum(a * b, {0}); }

}  // namespace detail

/// L-BFGS (Nocedal 1980), in PyTorch's formulation with one evaluation per step: d = −Hg, where H approximates the inverse
/// Hessian from the last `Pairs` pairs s, y of steps and gradient changes (two-loop recursion), starting with (sᵀy/yᵀy)I of the
/// newest; p ← p + ηd, in the first step p ← p − η·min(1, 1/Σ|g|)g. A pair is used if sᵀy > `least_curvature`; small losses
/// need a smaller value than PyTorch's 1e-10 (in float about 1e-14; anything below is rounding, and diverges). If d leads
/// uphill no step is made; a gradient of zeros is not remembered. Windows should be all samples, or large. There is no line
/// search: it would compare losses, whereas a rule gets only gradients, and terms added by `Loss::plus` are differentiated but
/// never evaluated (ADR 22). If steps are too long, a smaller η helps.
template <int Pairs>
struct LbfgsOf {
  using Ranges = RangesByName;
  static_assert(Pairs > 0, "L-BFGS needs at least one pair");
  Scalar learning_rate = 1.0, least_curvature = 1e-10;
  struct State {
    Var gradient, step;
    detail::CurvaturePairs<Pairs> pairs;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    using detail::dot;
    const Var change = gradient - state.gradient, seen = dot(change, state.step);
    const Var length = sum(abs(gradient), {0}), nothing = length == 0.0;
    const Var counts = where(nothing, 0.0, seen > value_of(least_curvature, seen));
    Var old[2 * Pairs], s[Pairs], y[Pairs];
    detail::list_state(state.pairs, old);
    for (int i = 0; i < Pairs; ++i) {
      s[i] = where(counts, i == 0 ? state.step : old[2 * i - 2], old[2 * i]);
      y[i] = where(counts, i == 0 ? change : old[2 * i - 1], old[2 * i + 1]);
    }
    Var share[Pairs], curved[Pairs];
    Var direction = -gradient;
    for (int i = 0; i < Pairs; ++i) {  // pairs that do not exist yet are zero
      const Var curvature = dot(y[i], s[i]), there = curvature > 0.0;
      curved[i] = where(there, 1.0 / where(there, curvature, 1.0), 0.0);
      share[i] = curved[i] * dot(s[i], direction);
      direction = direction - share[i] * y[i];
    }
    const Var curvature = dot(s[0], y[0]), there = curvature > 0.0;
    direction = where(there, curvature / where(there, dot(y[0], y[0]), 1.0), 1.0) * direction;
    for (int i = Pairs - 1; i >= 0; --i) direction = direction + (share[i] - curved[i] * dot(y[i], direction)) * s[i];
    const Var rate = value_of(learning_rate, length), begins = sum(abs(state.gradient), {0}) == 0.0;
    const Var first = minimum(1.0 / where(nothing, 1.0, length), 1.0);
    const Var moved = where(dot(gradient, direction) <= 0.0, where(begins, first, 1.0) * rate, 0.0) * direction;
    Var kept[2 * Pairs];
    for (int i = 0; i < Pairs; ++i) kept[2 * i] = s[i], kept[2 * i + 1] = y[i];
    return update(parameter + moved, State{where(nothing, state.gradient, gradient), where(nothing, state.step, moved),
                                           detail::make_state<detail::CurvaturePairs<Pairs>>(kept)});
  }
};
using Lbfgs = LbfgsOf<5>;

}  // namespace gradual
