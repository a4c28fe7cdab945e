#pragma once
#include <gradual/optim/rule_state.hpp>

namespace gradual {

/// Calls f(index) for each of a rule's states that follows the parameters, as an average of them does: the adapter that
/// has it says `static constexpr bool follows_parameters = true`, and it comes after the states of its `inner`.
template <class Rule, class F>
constexpr void for_following_states(F f) {
  if constexpr (requires(Rule rule) { rule.inner; }) {
    using Inner = decltype(Rule::inner);
    for_following_states<Inner>(f);
    if constexpr (requires { Rule::follows_parameters; }) f(detail::state_size<StateOf<Inner>>());
  }
}
/// Whether a rule's state `index` does.
template <class Rule>
constexpr bool follows_parameters(int index) {
  bool follows = false;
  for_following_states<Rule>([&](int state) { follows = follows || state == index; });
  return follows;
}

}  // namespace gradual
