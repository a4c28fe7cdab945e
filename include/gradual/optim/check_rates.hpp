#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gradual/core/error.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {
/// The numbers from `first` up to but not including `end`; with `ends`, only these two.
struct RateRange {
  double first, end;
  const char* text;
  bool ends = false;
  constexpr bool holds(double number) const {
    return ends ? number == first || number == end : number >= first && number < end;
  }
};
inline constexpr double no_end = std::numeric_limits<double>::infinity();
inline constexpr double least_number = std::numeric_limits<double>::min();  // not subnormal: some threads flush those to 0
inline constexpr RateRange not_negative{0, no_end, "finite and at least 0"},
    positive{least_number, no_end, "finite and above 0"},
    not_positive{std::numeric_limits<double>::lowest(), least_number, "finite and at most 0"},
    below_one{0, 1, "at least 0 and below 1"}, up_to_one{0, 1 + std::numeric_limits<double>::epsilon(), "from 0 to 1"},
    zero_or_one{0, 1, "0 or 1, as by schedule::every(5)", true};

/// Checks a number in the first step. Errors: OptionError if it is outside the range.
void check_number(const char* name, const Scalar& number, const RateRange& range);

/// `name`: null if numbers only need to be finite; the error then names the number's index.
[[noreturn, gnu::cold]] void refuse_in_step(double value, const char* name, const RateRange& range, std::size_t index,
                                            std::int64_t steps);

/// Calls f(name, number, range) for each number of a rule whose name restricts its range, for example to at least 0 or, for the
/// share that a moment keeps, to below 1. The decay of an average of parameters may be 1.
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

/// The same for a rule and those inside it, as far as they have ranges by name.
template <class Rule, class F>
[[gnu::cold]] void for_rates(const Rule& rule, const F& f) {
  if constexpr (HasRangesByName<Rule>) for_own_rates(rule, f);
  if constexpr (IsAdapter<Rule>) for_rates(rule.inner, f);
  if constexpr (requires { rule.others; }) for_rates(rule.others, f);
}

/// Checks numbers that depend on each other. Errors: OptionError for dampening without momentum.
template <class Rule>
[[gnu::cold]] void check_pairs(const Rule& rule) {
  if constexpr (HasRangesByName<Rule> && requires { rule.dampening.at(0); rule.momentum.kind; })
    if (rule.momentum.kind == Scalar::Kind::constant && rule.momentum.at(0) == 0 && rule.dampening.at(0) != 0)
      throw OptionError("an optimizer's dampening needs a momentum");
  if constexpr (IsAdapter<Rule>) check_pairs(rule.inner);
  if constexpr (requires { rule.others; }) check_pairs(rule.others);
}
}  // namespace detail

/// Rejects numbers with which no optimizer can make its first step.
/// Errors: OptionError for a number outside the range of its name, in a rule with `RangesByName`, and as for `check_pairs`.
template <class Rule>
[[gnu::cold]] void check_rates(const Rule& rule) {
  detail::for_rates(rule, &detail::check_number);
  detail::check_pairs(rule);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/check_rates.ipp>
#endif
