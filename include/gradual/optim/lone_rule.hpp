#pragma once
#include <gradual/optim/following_states.hpp>

namespace gradual::detail {

/// Whether nothing of a rule needs to be found in it but its numbers: it has no adapters, and no states of other shapes, that
/// begin otherwise than with 0, or that follow the parameters.
template <class Rule>
constexpr bool is_lone_rule() {
  return !requires(const Rule& rule) { rule.inner; } && !requires(Shape shape) { Rule::state_shape(0, shape); } &&
         !requires(const Rule& rule) { rule.initial({}); } && following_states<Rule>() == 0;
}

}  // namespace gradual::detail
