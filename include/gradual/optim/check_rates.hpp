#pragma once
#include <cstdint>
#include <limits>

#include <gradual/core/error.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {
/// Numbers from 0 to below `end`.
struct RateRange {
  double end;
  const char* text;
  constexpr bool holds(double number) const { return number >= 0 && number < end; }
};
inline constexpr RateRange not_negative{std::numeric_limits<double>::infinity(), "finite and at least 0"},
    below_one{1, "at least 0 and below 1"}, up_to_one{1 + std::numeric_limits<double>::epsilon(), "from 0 to 1"};

/// Errors: OptionError for a number that is not in the range in the first step.
[[gnu::cold]] void check_number(const char* name, const Scalar& number, const RateRange& range);

/// `name`: null where only finite ones are asked for, and the number is told by its index.
[[noreturn, gnu::cold]] void refuse_in_step(double value, const char* name, const RateRange& range, std::size_t index,
                                            std::int64_t steps);

/// Calls f(name, number, range) for each number of a rule, and of those inside it, that by its name cannot be negative or, as
/// the share that a moment or an average keeps, 1 or more.
template <class Rule, class F>
[[gnu::cold]] void for_rates(const Rule& rule, const F& f) {
  if constexpr (requires { rule.learning_rate.at(0); }) f("learning_rate", rule.learning_rate, not_negative);
  if constexpr (requires { rule.momentum.at(0); }) f("momentum", rule.momentum, not_negative);
  if constexpr (requires { rule.weight_decay.at(0); }) f("weight_decay", rule.weight_decay, not_negative);
  if constexpr (requires { rule.beta1.at(0); }) f("beta1", rule.beta1, below_one);
  if constexpr (requires { rule.beta2.at(0); }) f("beta2", rule.beta2, below_one);
  if constexpr (requires { rule.epsilon.at(0); }) f("epsilon", rule.epsilon, not_negative);
  if constexpr (requires { rule.epsilon1.at(0); }) f("epsilon1", rule.epsilon1, not_negative);
  if constexpr (requires { rule.epsilon2.at(0); }) f("epsilon2", rule.epsilon2, not_negative);
  if constexpr (requires { rule.clipping.at(0); }) f("clipping", rule.clipping, not_negative);
  if constexpr (requires { rule.damping.at(0); }) f("damping", rule.damping, not_negative);
  if constexpr (requires { rule.trust.at(0); }) f("trust", rule.trust, not_negative);
  if constexpr (requires { rule.learning_rate_decay.at(0); }) f("learning_rate_decay", rule.learning_rate_decay, not_negative);
  if constexpr (requires { rule.momentum_decay.at(0); }) f("momentum_decay", rule.momentum_decay, not_negative);
  if constexpr (requires { rule.max_norm.at(0); }) f("max_norm", rule.max_norm, not_negative);
  if constexpr (requires { rule.limit.at(0); }) f("limit", rule.limit, not_negative);
  if constexpr (requires { rule.rho.at(0); }) f("rho", rule.rho, below_one);
  if constexpr (requires { rule.decay.at(0); }) f("decay", rule.decay, below_one);
  if constexpr (requires { rule.least_curvature.at(0); }) f("least_curvature", rule.least_curvature, not_negative);
  if constexpr (requires { rule.radius.at(0); }) f("radius", rule.radius, not_negative);
  if constexpr (requires { rule.reference.at(0); }) f("reference", rule.reference, not_negative);
  if constexpr (requires { rule.alpha.at(0); rule.epsilon.at(0); }) f("alpha", rule.alpha, below_one);
  if constexpr (requires { rule.syncs.at(0); }) f("alpha", rule.alpha, up_to_one);
  if constexpr (requires { rule.factor.at(0); }) f("factor", rule.factor, not_negative);
  if constexpr (requires { rule.inner; }) for_rates(rule.inner, f);
  if constexpr (requires { rule.others; }) for_rates(rule.others, f);
}

/// Errors: OptionError for a reference of 0, and for dampening without momentum.
template <class Rule>
[[gnu::cold]] void check_pairs(const Rule& rule) {
  if constexpr (requires { rule.reference.at(0); })
    if (rule.reference.at(0) == 0) throw OptionError("an optimizer's reference of 0, by which its rate is divided");
  if constexpr (requires { rule.dampening.at(0); rule.momentum.kind; })
    if (rule.momentum.kind == Scalar::Kind::constant && rule.momentum.at(0) == 0 && rule.dampening.at(0) != 0)
      throw OptionError("an optimizer's dampening, where there is no momentum");
  if constexpr (requires { rule.inner; }) check_pairs(rule.inner);
  if constexpr (requires { rule.others; }) check_pairs(rule.others);
}
}  // namespace detail

/// Refuses numbers that no optimizer can step by, at the first step.
/// Errors: OptionError for a number that by its name cannot be what it is (`for_rates`), and as `check_pairs`.
template <class Rule>
[[gnu::cold]] void check_rates(const Rule& rule) {
  detail::for_rates(rule, &detail::check_number);
  detail::check_pairs(rule);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/check_rates.ipp>
#endif
