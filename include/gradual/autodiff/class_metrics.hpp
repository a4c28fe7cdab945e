#pragma once
#include <gradual/autodiff/loss.hpp>

namespace gradual {

// How well one class is told, as metrics of a `Loss`: guess and label are compared with its number `of`. Samples count alike,
// whatever the loss weighs them by, or by a `weight`: `label != -100.0` leaves ignored labels out.

namespace detail {
constexpr Metric class_metric(std::string_view name, Var value, Var counted, Var weight) {
  return metric(name, value, weight.valid() ? counted * weight : counted);
}
}  // namespace detail

/// Of what was taken for the class, how much is of it: TP/(TP + FP); NaN where nothing was.
constexpr Metric precision(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  return detail::class_metric(name, label == of, guess == of, weight);
}
/// Of what is of the class, how much was taken for it: TP/(TP + FN); NaN where nothing is.
constexpr Metric recall(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  return detail::class_metric(name, guess == of, label == of, weight);
}
/// The harmonic mean of both, 2TP/(2TP + FP + FN); NaN where nothing was taken for the class and nothing is of it.
constexpr Metric f1(std::string_view name, Var guess, Var label, double of = 1, Var weight = {}) {
  const Var taken = guess == of, there = label == of;
  return detail::class_metric(name, taken * there, taken + there, weight);
}

}  // namespace gradual
