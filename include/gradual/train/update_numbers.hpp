#pragma once
#include <span>
#include <vector>

#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/scalars_of.hpp>

namespace gradual::detail {

/// The numbers that the update program of a session is given in each step.
template <class Net, class Layout, class Rule>
class UpdateNumbers {
  using Sum = typename Layout::Sum;

 public:
  /// Errors: OptionError for a rate that cannot be, for a name that no parameter has, or for a rule that is another program
  /// with its numbers (`scalars_of`).
  [[gnu::cold]] explicit UpdateNumbers(const Rule& rule) {
    check_names(rule, Net::declared());
    const Tape update = trace_update(rule, Net::declared(), dtype_of<Sum>, dtype_of<typename Net::Real>);
    scalars_ = scalars_of(Layout::UpdateProgram::graph, update);
    check_rates(rule, scalars_);
    if (scalars_.size() > static_cast<std::size_t>(Layout::max_scalars)) refuse_rule();
  }

  /// After `steps` others, for a window of this weight and loss scale. Errors: OptionError for one that is not finite.
  std::span<const Sum> in_step(std::int64_t steps, double weight, double loss_scale, Evaluation evaluation) {
    for (std::size_t s = rule_scalars; s < scalars_.size(); ++s) {
      values_[s] = static_cast<Sum>(value_of_scalar(scalars_[s], steps, loss_scale));
      check_in_step(values_[s], s - rule_scalars, steps);
    }
    values_[window_weight] = static_cast<Sum>(weight);
    values_[step_count] = static_cast<Sum>((steps + 1) * static_cast<int>(evaluation));
    return {values_, scalars_.size()};
  }

 private:
  std::vector<Scalar> scalars_;
  Sum values_[Layout::max_scalars]{};
};

}  // namespace gradual::detail
