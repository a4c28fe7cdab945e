#pragma once
#include <gradual/optim/following_states.hpp>

namespace gradual::detail {

/// Returns whether a rule has nothing to look for but its numbers: no adapters, and no states that have other shapes, that
/// start from values other than 0, or that follow the parameters.
template <class Rule>
constexpr bool is_lone_rule() {
  return !requires(const Rule& rule) { rule.inner; } && !requires(Shape shape) { Rule::state_shape(0, shape); } &&
         !requires(const Rule& rule) { rule.initial({}); } && following_states<Rule>() == 0;
}

}  // namespace gradual::detail
