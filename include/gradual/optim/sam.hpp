#pragma once
#include <gradual/optim/loss_scale.hpp>

namespace gradual {

/// Sharpness-aware minimisation (Foret et al. 2021): `inner` steps from p, with the gradient at p + ρg/‖g‖, where g is the
/// window's mean gradient at p and the norm is over all parameters. So each window is evaluated twice, the second time there:
/// a trainer feeds it again, and callers of `Session::accumulate` must while `session.again()`. Goes around all other adapters.
template <class Inner>
struct Sam {
  using Ranges = RangesByName;
  Inner inner;
  Scalar radius = 0.05;
  static constexpr int evaluations = 2;
  static constexpr bool follows_parameters = true;
  struct State {
    StateOf<Inner> inner;
    Var start;  ///< p between the two evaluations, else 0; for a frozen parameter always p
  };
  /// `step`: the step count times its `Evaluation`.
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var climbs = step < 0.0, steps = step > 0.0;
    const auto next = apply_rule(inner, state.start, gradient, state.inner, abs(step));
    if constexpr (loss_scales<Inner> > 0) gradient = gradient * loss_scaling_of(inner).unscale();  // or squares would overflow
    const Var length = sqrt(sum(gradient * gradient, {0}));
    const Var top = parameter + value_of(radius, length) / where(length > 0.0, length, 1.0) * gradient;
    constexpr int states = detail::state_size<StateOf<Inner>>();
    Var kept[states + 1], made[states + 1];
    detail::list_state(state.inner, kept);
    detail::list_state(next.state, made);
    for (int s = 0; s < states; ++s) made[s] = where(steps, made[s], kept[s]);
    return update(where(climbs, top, where(steps, next.parameter, state.start)),
                  State{detail::make_state<StateOf<Inner>>(made), where(climbs, parameter, 0.0)});
  }
};
template <class Inner>
Sam(Inner) -> Sam<Inner>;
template <class Inner, class Radius>
Sam(Inner, Radius) -> Sam<Inner>;

}  // namespace gradual
