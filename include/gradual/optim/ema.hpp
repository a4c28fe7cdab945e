#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// Keeps an exponential moving average of the parameters (Polyak and Juditsky 1992): after each step of `inner`,
/// a ← δa + (1−δ)p; after the first, a = p. Training does not use it; a session's `averaged_parameters()` returns it.
/// A decay of 1 leaves it unchanged: with `schedule::every(10, 0.0, 1.0)` it is a copy of the parameters of every tenth step.
template <class Inner>
struct Ema {
  using Ranges = RangesByName;
  Inner inner;
  Scalar decay = 0.999;
  static constexpr bool follows_parameters = true;
  struct State {
    StateOf<Inner> inner;
    Var average;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state.inner, step);
    const Var average = detail::moving_average(state.average, next.parameter, value_of(decay, step));
    return update(next.parameter, State{next.state, where(step == 1.0, next.parameter, average)});
  }
};
template <class Inner>
Ema(Inner) -> Ema<Inner>;
template <class Inner, class Number>
Ema(Inner, Number) -> Ema<Inner>;

/// The index of the average among a rule's states, or −1: an adapter's own states come after those of its `inner`.
template <class Rule>
inline constexpr int average_state = -1;
template <class Rule>
  requires detail::IsAdapter<Rule>
inline constexpr int average_state<Rule> = average_state<decltype(Rule::inner)>;
template <class Inner>
inline constexpr int average_state<Ema<Inner>> = detail::state_size<StateOf<Inner>>();

}  // namespace gradual
