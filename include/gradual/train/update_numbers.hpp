#pragma once
#include <span>
#include <vector>

#include <gradual/core/math/all_finite.hpp>
#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/update.hpp>

namespace gradual::detail {

/// A run of an update program: after how many steps, and for which window.
struct UpdateStep {
  std::int64_t steps = 0;
  double weight = 1, loss_scale = 1;
  Evaluation evaluation = Evaluation::second;
};

/// The numbers that an update program reads in each step: the window's weight, the step, and those of its rule.
template <class Real>
class UpdateNumbers {
 public:
  /// `scalars`: those that the program reads of `rule`, by slot. Errors: OptionError for numbers that are invalid in the first
  /// step, or not finite in Real.
  template <class Rule>
  [[gnu::cold]] UpdateNumbers(const Rule& rule, const std::vector<Scalar>& scalars);

  /// Returns them for a step. Errors: OptionError for an invalid one; going back depends on none.
  std::span<const Real> in_step(const UpdateStep& step) {
    if (step.evaluation != Evaluation::back)
      for (const Number& number : varying_)
        set(number, value_of_scalar(number.scalar, step.steps, step.loss_scale), step.steps);
    values_[window_weight] = static_cast<Real>(step.weight);
    values_[step_count] = static_cast<Real>((step.steps + 1) * static_cast<int>(step.evaluation));
    return values_;
  }
  /// Returns the place to which `in_step` writes.
  const Real* values() const { return values_.data(); }

 private:
  struct Number {
    std::size_t slot;
    Scalar scalar;
    const char* name = nullptr;  ///< of a number with a range
    RateRange range = not_negative;
  };

  void set(const Number& number, double value, std::int64_t steps) {
    const Real rounded = values_[number.slot] = static_cast<Real>(value);
    const bool in_range = number.name == nullptr || number.range.holds(value);
    if (!in_range || !math::is_finite(rounded)) [[unlikely]]
      refuse_in_step(static_cast<double>(rounded), number.name, number.range, number.slot - rule_scalars, steps);
  }

  std::vector<Real> values_;
  std::vector<Number> varying_;
};

// Not inline: sources compile it only for rules that `gradual::kernels` does not have.
template <class Real>
template <class Rule>
UpdateNumbers<Real>::UpdateNumbers(const Rule& rule, const std::vector<Scalar>& scalars) : values_(scalars.size()) {
  check_rates(rule);
  for (std::size_t slot = rule_scalars; slot < scalars.size(); ++slot) {
    Number number{slot, scalars[slot]};
    for_rates(rule, [&](const char* name, const Scalar& rate, const RateRange& range) {
      if (rate == scalars[slot]) number.name = name, number.range = range;
    });
    set(number, scalars[slot].at(0), 0);
    if (scalars[slot].kind != Scalar::Kind::constant) varying_.push_back(number);
  }
}

}  // namespace gradual::detail
