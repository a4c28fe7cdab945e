#pragma once
// Shared by tests that sweep every rule.
#include <gtest/gtest.h>

#include "rule_list.hpp"

namespace models {

/// Returns a rule in which every number has an effect.
template <class Rule>
Rule with_all_numbers() {
  Rule rule{};
  if constexpr (requires { rule.weight_decay; }) rule.weight_decay = 0.05f;
  if constexpr (requires { rule.momentum; }) rule.momentum = 0.7f;
  if constexpr (requires { rule.nesterov; }) rule.nesterov = true;
  if constexpr (requires { rule.dampening; }) rule.dampening = 0.3f;
  if constexpr (requires { rule.centered; }) rule.centered = true;
  if constexpr (requires { rule.learning_rate_decay; }) rule.learning_rate_decay = 0.1f;
  rule.learning_rate = 0.02f;
  return rule;
}

}  // namespace models
