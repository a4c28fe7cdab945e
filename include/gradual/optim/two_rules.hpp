#pragma once
#include <algorithm>

#include <gradual/autodiff/op_list.hpp>
#include <gradual/optim/update.hpp>

namespace gradual::detail {

/// An aggregate of `Count` Vars.
template <int Count>
struct Vars {
  Var first;
  Vars<Count - 1> others;
};
template <>
struct Vars<0> {};

/// The states to add to those of `inner` so that `others` has room for its own.
template <class Inner, class Others>
using MoreStates = Vars<std::max(0, state_size<StateOf<Others>>() - state_size<StateOf<Inner>>())>;

template <class Inner, class Others>
using OpsOfBoth = Joined<typename OwnOpsOf<Inner>::type, typename OwnOpsOf<Others>::type>;

/// Updates some parameters by `inner` and the rest by `others`, whose states share the same places, as no parameter has both.
/// choose(a, b) returns a row of a for the inner rule's parameters, else of b. Each rule sees 0 for what is not its own.
template <class State, class Inner, class Others, class Choose>
constexpr Update<State> update_by_either(const Inner& inner, const Others& others, Var parameter, Var gradient,
                                         const State& state, Var step, Choose choose) {
  static_assert(is_lone_rule<Inner>() && is_lone_rule<Others>(),
                "rules for groups of parameters have no adapters, which go around both, and no states of other shapes, that "
                "do not begin with 0, or that follow the parameters");
  using InnerState = StateOf<Inner>;
  using OthersState = StateOf<Others>;
  constexpr int shared = std::max(state_size<InnerState>(), state_size<OthersState>());
  const Var zero = constant_like(gradient, 0);
  Var kept[state_size<State>() + 1], a[shared + 1], b[shared + 1];
  list_state(state, kept);
  for (int i = 0; i < shared; ++i) a[i] = choose(kept[i], zero), b[i] = choose(zero, kept[i]);
  const auto by_inner = apply_rule(inner, parameter, choose(gradient, zero), make_state<InnerState>(a), step);
  const auto by_others = apply_rule(others, parameter, choose(zero, gradient), make_state<OthersState>(b), step);
  list_state(by_inner.state, a);
  list_state(by_others.state, b);
  for (int i = 0; i < shared; ++i)  // each may be one number for all
    kept[i] = choose(broadcast(a[i], gradient.shape()), broadcast(b[i], gradient.shape()));
  return {choose(by_inner.parameter, by_others.parameter), make_state<State>(kept)};
}

}  // namespace gradual::detail
