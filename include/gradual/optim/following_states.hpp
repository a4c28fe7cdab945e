#pragma once
#include <cstdint>

#include <gradual/optim/rule_state.hpp>

namespace gradual {

/// A bit for each of a rule's states that follows the parameters, as an average of them does: the adapter that has it says
/// `static constexpr bool follows_parameters = true`, and it comes after the states of its `inner`.
template <class Rule>
constexpr std::uint64_t following_states() {
  if constexpr (requires(Rule rule) { rule.inner; }) {
    using Inner = decltype(Rule::inner);
    const std::uint64_t own = requires { Rule::follows_parameters; };
    return following_states<Inner>() | own << detail::state_size<StateOf<Inner>>();
  } else {
    return 0;
  }
}

}  // namespace gradual
