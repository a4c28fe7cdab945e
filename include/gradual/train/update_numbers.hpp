#pragma once
#include <span>
#include <utility>
#include <vector>

#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/scalars_of.hpp>

namespace gradual::detail {

/// The numbers that an update program is given in each step: the window's weight, the step, and those of its rule.
template <class Real>
class UpdateNumbers {
 public:
  /// `scalars`: what the program reads, by slot. Errors: OptionError for a constant that is not finite in Real.
  [[gnu::cold]] explicit UpdateNumbers(const std::vector<Scalar>& scalars) : values_(scalars.size()) {
    for (std::size_t slot = rule_scalars; slot < scalars.size(); ++slot)
      if (scalars[slot].kind == Scalar::Kind::constant) set(slot, scalars[slot].at(0), 0);
      else varying_.emplace_back(slot, scalars[slot]);
  }

  /// After `steps` others, for a window of this weight and loss scale. Errors: OptionError for one that is not finite.
  std::span<const Real> in_step(std::int64_t steps, double weight, double loss_scale, Evaluation evaluation) {
    for (const auto& [slot, scalar] : varying_) set(slot, value_of_scalar(scalar, steps, loss_scale), steps);
    values_[window_weight] = static_cast<Real>(weight);
    values_[step_count] = static_cast<Real>((steps + 1) * static_cast<int>(evaluation));
    return values_;
  }
  /// Where `in_step` writes.
  const Real* values() const { return values_.data(); }

 private:
  void set(std::size_t slot, double value, std::int64_t steps) {
    values_[slot] = static_cast<Real>(value);
    check_in_step(values_[slot], slot - rule_scalars, steps);
  }

  std::vector<Real> values_;
  std::vector<std::pair<std::size_t, Scalar>> varying_;
};

/// What the update program of a session reads of `rule`. Errors: OptionError for a rate that cannot be, for a name that no
/// parameter has, or for a rule that is another program with its numbers (`scalars_of`).
template <class Net, class Layout, class Rule>
[[gnu::cold]] std::vector<Scalar> scalars_of_rule(const Rule& rule) {
  check_names(rule, Net::declared());
  const Tape update = trace_update(rule, Net::declared(), dtype_of<typename Layout::Sum>, dtype_of<typename Net::Real>);
  std::vector<Scalar> scalars = scalars_of(Layout::UpdateProgram::graph, update);
  check_rates(rule, scalars);
  if (scalars.size() > static_cast<std::size_t>(Layout::max_scalars)) refuse_rule();
  return scalars;
}

}  // namespace gradual::detail
