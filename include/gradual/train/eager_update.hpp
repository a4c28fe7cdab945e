#pragma once
#include <optional>
#include <span>

#include <gradual/optim/trace_update.hpp>
#include <gradual/train/elementwise_update.hpp>
#include <gradual/train/update_by_ops.hpp>
#include <gradual/train/update_numbers.hpp>

namespace gradual {

/// An update rule that runs over flat parameters: compiled if it is elementwise, otherwise (norms, and on a GPU) op by op.
template <class Rule, class Real = float>
class EagerUpdate {
 public:
  /// `parameters`: as declared, stored one after another. Errors: MemoryError, OptionError.
  EagerUpdate(const Device& device, const Rule& rule, std::span<const ParameterInfo> parameters)
      : EagerUpdate(device, rule,
                    detail::recorded_update(detail::TypedRule<Rule>(rule), parameters, dtype_of<Real>, dtype_of<Real>)) {}

  const UpdateParts& parts() const { return parts_; }

  /// Returns whether `run`, given `frozen`, will not change what is frozen; otherwise it changes all elements.
  bool passes_over(const Frozen& frozen) {
    if (by_element_) by_element_->pass_over(frozen);
    return by_element_.has_value();
  }
  /// Runs one update: arrays[0] holds the parameters, arrays[1] the window's summed gradient, the others the state. `seed`:
  /// that of the rule's draws. `frozen`: that of `passes_over`, if it was called. Errors: MemoryError, or OptionError for a
  /// number that is not finite, before anything is changed.
  void run(const Cpu::Queue& queue, Real* const* arrays, const detail::UpdateStep& step, std::uint64_t seed = 0,
           const Frozen* frozen = nullptr) {
    numbers_.in_step(step);
    if (by_element_) return by_element_->run(queue, numbers_.values(), arrays, frozen);
    by_ops_->run(arrays, {.on = true, .seed = seed, .step = static_cast<std::uint64_t>(step.steps)});
  }

 private:
  EagerUpdate(const Device& device, const Rule& rule, Tape tape) : parts_(tape), numbers_(rule, tape.scalars) {
    if constexpr (UpdatesByElement<Rule, Real>) {
      if (device.shares_host_memory())
        by_element_ = ElementwiseUpdate<Real>::template of<Rule>(device, tape, parts_.elements(0));
      if (by_element_) numbers_ = detail::UpdateNumbers<Real>(rule, by_element_->scalars());
    }
    if (!by_element_) by_ops_.emplace(device, std::move(tape), parts_, numbers_.values(), OpsFor<Rule>{});
  }

  UpdateParts parts_;
  std::optional<ElementwiseUpdate<Real>> by_element_;
  std::optional<UpdateByOps<Real>> by_ops_;
  detail::UpdateNumbers<Real> numbers_;
};

}  // namespace gradual
