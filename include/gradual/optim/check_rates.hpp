#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gradual/core/error.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {
/// Numbers from `first` to below `end`; `ends`: only these two.
struct RateRange {
  double first, end;
  const char* text;
  bool ends = false;
  constexpr bool holds(double number) const {
    return ends ? number == first || number == end : number >= first && number < end;
  }
};
inline constexpr double no_end = std::numeric_limits<double>::infinity();
inline constexpr double least_number = std::numeric_limits<double>::min();  // no subnormal, which some threads take for 0
inline constexpr RateRange not_negative{0, no_end, "finite and at least 0"},
    positive{least_number, no_end, "finite and above 0"},
    not_positive{std::numeric_limits<double>::lowest(), least_number, "finite and at most 0"},
    below_one{0, 1, "at least 0 and below 1"}, up_to_one{0, 1 + std::numeric_limits<double>::epsilon(), "from 0 to 1"},
    zero_or_one{0, 1, "0 or 1, as by schedule::every(5)", true};

/// Errors: OptionError for a number that is not in the range in the first step.
void check_number(const char* name, const Scalar& number, const RateRange& range);

/// `name`: null where only finite ones are asked for, and the number is told by its index.
[[noreturn, gnu::cold]] void refuse_in_step(double value, const char* name, const RateRange& range, std::size_t index,
                                            std::int64_t steps);

/// Calls f(name, number, range) for each number of a rule that by its name cannot be all that numbers are: negative or, as the
/// share that a moment keeps, 1 or more. An average of parameters may be kept as it is.
template <class Rule, class F>
[[gnu::cold]] void for_own_rates(const Rule& rule, const F& f) {
  if constexpr (requires { rule.learning_rate.at(0); }) f("learning_rate", rule.learning_rate, not_negative);
  if constexpr (requires { rule.momentum.at(0); }) f("momentum", rule.momentum, not_negative);
  if constexpr (requires { rule.weight_decay.at(0); }) f("weight_decay", rule.weight_decay, not_negative);
  if constexpr (requires { rule.beta1.at(0); }) f("beta1", rule.beta1, below_one);
  if constexpr (requires { rule.beta2.at(0); }) f("beta2", rule.beta2, below_one);
  if constexpr (requires { rule.epsilon.at(0); }) f("epsilon", rule.epsilon, not_negative);
  if constexpr (requires { rule.epsilon1.at(0); }) f("epsilon1", rule.epsilon1, not_negative);
  if constexpr (requires { rule.epsilon2.at(0); }) f("epsilon2", rule.epsilon2, not_negative);
  if constexpr (requires { rule.clipping.at(0); }) f("clipping", rule.clipping, positive);
  if constexpr (requires { rule.damping.at(0); }) f("damping", rule.damping, not_negative);
  if constexpr (requires { rule.trust.at(0); }) f("trust", rule.trust, positive);
  if constexpr (requires { rule.variance_decay.at(0); }) f("variance_decay", rule.variance_decay, not_positive);
  if constexpr (requires { rule.learning_rate_decay.at(0); }) f("learning_rate_decay", rule.learning_rate_decay, not_negative);
  if constexpr (requires { rule.momentum_decay.at(0); }) f("momentum_decay", rule.momentum_decay, not_negative);
  if constexpr (requires { rule.max_norm.at(0); }) f("max_norm", rule.max_norm, not_negative);
  if constexpr (requires { rule.limit.at(0); }) f("limit", rule.limit, not_negative);
  if constexpr (requires { rule.rho.at(0); }) f("rho", rule.rho, below_one);
  if constexpr (requires { rule.decay.at(0); })
    f("decay", rule.decay, following_states<Rule>() >> inner_states<Rule>() != 0 ? up_to_one : below_one);
  if constexpr (requires { rule.least_curvature.at(0); }) f("least_curvature", rule.least_curvature, not_negative);
  if constexpr (requires { rule.radius.at(0); }) f("radius", rule.radius, not_negative);
  if constexpr (requires { rule.reference.at(0); }) f("reference", rule.reference, positive);
  if constexpr (requires { rule.alpha.at(0); rule.epsilon.at(0); }) f("alpha", rule.alpha, below_one);
  if constexpr (requires { rule.syncs.at(0); }) f("syncs", rule.syncs, zero_or_one), f("alpha", rule.alpha, up_to_one);
  if constexpr (requires { rule.factor.at(0); }) f("factor", rule.factor, not_negative);
}

template <class Rule>
concept HasRangesByName = std::is_same_v<typename Rule::Ranges, RangesByName>;

/// As `for_own_rates`, for a rule and those inside it, where they have ranges by name.
template <class Rule, class F>
[[gnu::cold]] void for_rates(const Rule& rule, const F& f) {
  if constexpr (HasRangesByName<Rule>) for_own_rates(rule, f);
  if constexpr (requires { rule.inner; }) for_rates(rule.inner, f);
  if constexpr (requires { rule.others; }) for_rates(rule.others, f);
}

/// Errors: OptionError for dampening without momentum.
template <class Rule>
[[gnu::cold]] void check_pairs(const Rule& rule) {
  if constexpr (HasRangesByName<Rule> && requires { rule.dampening.at(0); rule.momentum.kind; })
    if (rule.momentum.kind == Scalar::Kind::constant && rule.momentum.at(0) == 0 && rule.dampening.at(0) != 0)
      throw OptionError("an optimizer's dampening, where there is no momentum");
  if constexpr (requires { rule.inner; }) check_pairs(rule.inner);
  if constexpr (requires { rule.others; }) check_pairs(rule.others);
}
}  // namespace detail

/// Refuses numbers that no optimizer can step by, at the first step.
/// Errors: OptionError for a number of a rule with `RangesByName` that cannot be what it is, and as `check_pairs`.
template <class Rule>
[[gnu::cold]] void check_rates(const Rule& rule) {
  detail::for_rates(rule, &detail::check_number);
  detail::check_pairs(rule);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/check_rates.ipp>
#endif
