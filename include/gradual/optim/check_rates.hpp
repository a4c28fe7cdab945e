#pragma once
#include <cstdint>
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// Refuses numbers that no optimizer can step by, at the first step of each of a rule's scalars.
/// Errors: OptionError for one that is not finite, or a negative learning rate of a rule or of the one inside it.
template <class Rule>
[[gnu::cold]] void check_rates(const Rule& rule, const std::vector<Scalar>& scalars) {
  for (std::size_t s = rule_scalars; s < scalars.size(); ++s)
    if (!math::is_finite(scalars[s].at(0)))
      throw OptionError("an optimizer's number " + std::to_string(s - rule_scalars + 1) + " is not finite in the first step");
  if constexpr (requires { rule.learning_rate.at(0); })
    if (rule.learning_rate.at(0) < 0) throw OptionError("a learning rate of " + std::to_string(rule.learning_rate.at(0)));
  if constexpr (requires { rule.inner; }) check_rates(rule.inner, {});
}

}  // namespace gradual
