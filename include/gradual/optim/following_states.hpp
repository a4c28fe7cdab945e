#pragma once
#include <cstdint>

#include <gradual/optim/rule_state.hpp>

namespace gradual {

namespace detail {
/// Returns the number of states of a rule's `inner`, which precede the rule's own.
template <class Rule>
constexpr int inner_states() {
  if constexpr (IsAdapter<Rule>) return state_size<StateOf<decltype(Rule::inner)>>();
  else return 0;
}

template <class Rule>
constexpr bool follows_parameters(int own_state) {
  if constexpr (requires { Rule::follows_parameters(own_state); }) return Rule::follows_parameters(own_state);
  else if constexpr (requires { Rule::follows_parameters; }) return Rule::follows_parameters;
  else return false;
}
}  // namespace detail

/// Returns a bit mask of the states of a rule that follow the parameters, as an average of them does: a rule whose own states
/// all do has `static constexpr bool follows_parameters = true`; if only some do, `static constexpr bool
/// follows_parameters(int index)` tells which. An adapter counts its own states from 0.
template <class Rule>
constexpr std::uint64_t following_states() {
  constexpr int first = detail::inner_states<Rule>();
  std::uint64_t following = 0;
  if constexpr (detail::IsAdapter<Rule>) following = following_states<decltype(Rule::inner)>();
  for (int s = first; s < detail::state_size<StateOf<Rule>>(); ++s)
    following |= std::uint64_t{detail::follows_parameters<Rule>(s - first)} << s;
  return following;
}

}  // namespace gradual
