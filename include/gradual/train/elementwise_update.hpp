#pragma once
#include <optional>
#include <utility>
#include <vector>

#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/eager/device.hpp>
#include <gradual/optim/scalars_of.hpp>
#include <gradual/optim/update_by_element.hpp>
#include <gradual/train/update_of_ranges.hpp>
#include <gradual/train/update_program.hpp>

namespace gradual {

/// An elementwise update of arrays of any length, in place.
template <class Real = float>
class ElementwiseUpdate {
 public:
  /// Returns nothing where the rule traced by `tape` records other ops with its numbers than with the defaults. Errors:
  /// MemoryError.
  template <class Rule>
    requires UpdatesByElement<Rule, Real>
  static std::optional<ElementwiseUpdate> of(const Device& device, const Tape& tape, std::int64_t elements) {
    using Compiled = detail::UpdateProgram<Cpu, Program<detail::ElementTrace<Rule, Real>>>;
    std::optional<std::vector<Scalar>> scalars = find_scalars_by_element(Compiled::tables(), tape);
    if (!scalars) return {};
    return ElementwiseUpdate(Compiled::tables(), Compiled::kernels(), device, std::move(*scalars), elements,
                             detail::element_program_bytes<Rule, Real>(elements));
  }

  const std::vector<Scalar>& scalars() const { return scalars_; }

  /// Readies `run` for elements that it must not change.
  void pass_over(const Frozen& frozen) { ranges_ = detail::UpdateOfRanges(*program_, frozen); }
  /// `numbers`: the scalars, by slot; `arrays`: places of the parameters, their gradient and the states; `frozen`: that of
  /// `pass_over`, if it was called.
  void run(const Cpu::Queue& queue, const Real* numbers, Real* const* arrays, const Frozen* frozen = nullptr) {
    detail::place_arrays_of_update(*program_, numbers, [&](std::int64_t which) { return arrays[which]; }, address_.data());
    StepArguments a;
    a.address = address_.data();
    a.batch = elements_;
    const auto run = [&](const StepArguments& how) { detail::run_by_element(queue, *kernels_, how); };
    if (ranges_.possible()) ranges_.run(a, *frozen, run);
    else run(a);
  }

 private:
  ElementwiseUpdate(const ProgramTables& program, const Cpu::Kernels& kernels, const Device& device,
                    std::vector<Scalar> scalars, std::int64_t elements, std::int64_t bytes)
      : program_(&program), kernels_(&kernels), scalars_(std::move(scalars)), elements_(elements),
        memory_(device.allocate(bytes, Category::workspace)),
        address_(program.nodes.size()) {
    std::vector<std::int64_t> offsets(program.nodes.size() + 1);
    detail::place_values_of_update(program, elements, memory_.data(), offsets.data(), address_.data());
  }

  const ProgramTables* program_;
  const Cpu::Kernels* kernels_;
  std::vector<Scalar> scalars_;
  std::int64_t elements_;
  detail::UpdateOfRanges ranges_;
  eager::Storage memory_;
  std::vector<void*> address_;
};

}  // namespace gradual
