#pragma once
#include <gradual/autodiff/loss.hpp>

namespace gradual {

// How well one class is recognised, as metrics of a `Loss`: guess and label are compared with the class's number `of`. Samples
// count equally, whatever the loss's weights, or by `weight`: `label != -100.0` leaves ignored labels out.

namespace detail {
constexpr Metric class_metric(std::string_view name, Var value, Var counted, Var weight) {
  return metric(name, value, weight.valid() ? counted * weight : counted);
}
}  // namespace detail

/// Returns the share of samples predicted as the class that are of it: TP/(TP + FP); NaN if none was predicted as it.
constexpr Metric precision(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  return detail::class_metric(name, label == of, guess == of, weight);
}
/// Returns the share of samples of the class that are predicted as it: TP/(TP + FN); NaN if there are none.
constexpr Metric recall(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  return detail::class_metric(name, guess == of, label == of, weight);
}
/// Returns the harmonic mean of both, 2TP/(2TP + FP + FN); NaN if no sample is of the class or predicted as it.
constexpr Metric f1(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  const Var taken = guess == of, there = label == of;
  return detail::class_metric(name, taken * there, taken + there, weight);
}

}  // namespace gradual
