#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Lookahead (Zhang et al. 2019): `inner` steps; after each step in which `syncs` is 1, every fifth by default, the slow
/// parameters, which begin where training begins, move to s ← s + α(p − s), and training goes on from there: p ← s.
template <class Inner>
struct Lookahead {
  using Ranges = RangesByName;
  Inner inner;
  Scalar syncs = schedule::every(5), alpha = 0.5;  ///< syncs: 1 in the steps that end with a move, else 0
  static constexpr bool follows_parameters = true;
  struct State {
    StateOf<Inner> inner;
    Var slow;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state.inner, step);
    const Var slow = where(step == 1.0, parameter, state.slow);
    const Var sync = value_of(syncs, step) == 1.0;
    const Var moved = slow + value_of(alpha, step) * (next.parameter - slow);
    return update(where(sync, moved, next.parameter), State{next.state, where(sync, moved, slow)});
  }
};
template <class Inner>
Lookahead(Inner) -> Lookahead<Inner>;
template <class Inner>
Lookahead(Inner, Scalar) -> Lookahead<Inner>;
template <class Inner, class Alpha>
Lookahead(Inner, Scalar, Alpha) -> Lookahead<Inner>;

}  // namespace gradual
