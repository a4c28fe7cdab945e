#pragma once
#include <cstdint>
#include <string_view>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/core/pattern.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// Parameters by name: up to four names, or patterns in which '*' stands for any run of characters.
struct ParameterNames {
  std::string_view pattern[4];

  constexpr bool empty() const {
    for (const std::string_view p : pattern)
      if (!p.empty()) return false;
    return true;
  }
  constexpr bool contain(std::string_view name) const {
    for (const std::string_view p : pattern)
      if (!p.empty() && matches(p, name)) return true;
    return false;
  }
};

/// Returns the initial value of each element of a rule's state `index`, for a parameter of this name: 0, unless an adapter
/// declares `constexpr float initial(std::string_view name) const` for its last state.
template <class Rule>
constexpr float initial_state(const Rule& rule, int index, std::string_view name) {
  if constexpr (detail::IsAdapter<Rule>)
    if (index < detail::inner_states<Rule>()) return initial_state(rule.inner, index, name);
  if constexpr (requires { rule.initial(name); })
    if (index == detail::state_size<StateOf<Rule>>() - 1) return rule.initial(name);
  return 0;
}

/// Returns a bit mask of the states that mark an adapter's parameters, each the adapter's last; no step changes them.
template <class Rule>
constexpr std::uint64_t chosen_states() {
  std::uint64_t chosen = 0;
  if constexpr (detail::IsAdapter<Rule>) chosen = chosen_states<decltype(Rule::inner)>();
  if constexpr (requires(const Rule& rule) { rule.only; })
    chosen |= std::uint64_t{1} << (detail::state_size<StateOf<Rule>>() - 1);
  return chosen;
}

/// Errors: OptionError for a pattern of a rule or an adapter that matches no parameter, with the existing names, and for an
/// adapter without patterns.
template <class Rule>
void check_names(const Rule& rule, std::span<const ParameterInfo> parameters) {
  if constexpr (requires { rule.only; }) {
    if (rule.only.empty()) throw OptionError("an optimizer: an adapter names none of the parameters; {{\"*\"}} names all");
    for (const std::string_view pattern : rule.only.pattern)
      if (!pattern.empty()) detail::check_pattern("an optimizer: ", pattern, parameters);
  }
  if constexpr (detail::IsAdapter<Rule>) check_names(rule.inner, parameters);
}

}  // namespace gradual
