#pragma once
// Every update rule: the one list that tests of all of them sweep.
#include <gtest/gtest.h>

#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;
using Rules = testing::Types<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion, Lamb, Lars, Muon, Adafactor>;

/// A rule all of whose numbers matter.
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
