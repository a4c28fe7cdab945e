#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {
/// Numbers from 0 to below `end`.
struct RateRange {
  double end;
  const char* text;
};
inline constexpr RateRange not_negative{std::numeric_limits<double>::infinity(), "finite and at least 0"},
    below_one{1, "at least 0 and below 1"}, up_to_one{1 + std::numeric_limits<double>::epsilon(), "from 0 to 1"};

/// Errors: OptionError for a number that is not in the range in the first step.
[[gnu::cold]] void check_number(const char* name, const Scalar& number, const RateRange& range = not_negative);

[[noreturn, gnu::cold]] void refuse_in_step(double value, std::size_t index, std::int64_t steps);

/// Errors: OptionError for a number of a rule, counted from 0, that is not finite in what the rule computes in.
template <class Sum>
void check_in_step(Sum value, std::size_t index, std::int64_t steps) {
  if (!math::is_finite(value)) [[unlikely]] refuse_in_step(value, index, steps);
}
}  // namespace detail

/// Refuses numbers that no optimizer can step by, at the first step of each of a rule's scalars.
/// Errors: OptionError for one that is not finite, or for a number of a rule or of the one inside it that, by its name,
/// cannot be negative or, as the share that a moment or an average keeps, 1 or more; for a reference of 0, and for dampening
/// without momentum.
template <class Rule>
[[gnu::cold]] void check_rates(const Rule& rule, const std::vector<Scalar>& scalars) {
  if constexpr (requires { rule.learning_rate.at(0); }) detail::check_number("learning_rate", rule.learning_rate);
  if constexpr (requires { rule.momentum.at(0); }) detail::check_number("momentum", rule.momentum);
  if constexpr (requires { rule.weight_decay.at(0); }) detail::check_number("weight_decay", rule.weight_decay);
  if constexpr (requires { rule.beta1.at(0); }) detail::check_number("beta1", rule.beta1, detail::below_one);
  if constexpr (requires { rule.beta2.at(0); }) detail::check_number("beta2", rule.beta2, detail::below_one);
  if constexpr (requires { rule.epsilon.at(0); }) detail::check_number("epsilon", rule.epsilon);
  if constexpr (requires { rule.epsilon1.at(0); }) detail::check_number("epsilon1", rule.epsilon1);
  if constexpr (requires { rule.epsilon2.at(0); }) detail::check_number("epsilon2", rule.epsilon2);
  if constexpr (requires { rule.clipping.at(0); }) detail::check_number("clipping", rule.clipping);
  if constexpr (requires { rule.damping.at(0); }) detail::check_number("damping", rule.damping);
  if constexpr (requires { rule.trust.at(0); }) detail::check_number("trust", rule.trust);
  if constexpr (requires { rule.learning_rate_decay.at(0); }) detail::check_number("learning_rate_decay", rule.learning_rate_decay);
  if constexpr (requires { rule.momentum_decay.at(0); }) detail::check_number("momentum_decay", rule.momentum_decay);
  if constexpr (requires { rule.max_norm.at(0); }) detail::check_number("max_norm", rule.max_norm);
  if constexpr (requires { rule.limit.at(0); }) detail::check_number("limit", rule.limit);
  if constexpr (requires { rule.rho.at(0); }) detail::check_number("rho", rule.rho, detail::below_one);
  if constexpr (requires { rule.decay.at(0); }) detail::check_number("decay", rule.decay, detail::below_one);
  if constexpr (requires { rule.least_curvature.at(0); }) detail::check_number("least_curvature", rule.least_curvature);
  if constexpr (requires { rule.radius.at(0); }) detail::check_number("radius", rule.radius);
  if constexpr (requires { rule.reference.at(0); }) {
    detail::check_number("reference", rule.reference);
    if (rule.reference.at(0) == 0) throw OptionError("an optimizer's reference of 0, by which its rate is divided");
  }
  if constexpr (requires { rule.dampening.at(0); rule.momentum.kind; })
    if (rule.momentum.kind == Scalar::Kind::constant && rule.momentum.at(0) == 0 && rule.dampening.at(0) != 0)
      throw OptionError("an optimizer's dampening, where there is no momentum");
  if constexpr (requires { rule.alpha.at(0); rule.epsilon.at(0); }) detail::check_number("alpha", rule.alpha, detail::below_one);
  if constexpr (requires { rule.syncs.at(0); }) detail::check_number("alpha", rule.alpha, detail::up_to_one);
  if constexpr (requires { rule.factor.at(0); }) detail::check_number("factor", rule.factor);
  if constexpr (requires { rule.inner; }) check_rates(rule.inner, {});
  if constexpr (requires { rule.others; }) check_rates(rule.others, {});
  for (std::size_t s = rule_scalars; s < scalars.size(); ++s) detail::check_in_step(scalars[s].at(0), s - rule_scalars, 0);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/check_rates.ipp>
#endif
