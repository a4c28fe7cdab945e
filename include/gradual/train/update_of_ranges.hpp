#pragma once
#include <memory>

#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/train/frozen.hpp>

namespace gradual::detail {

/// An elementwise update that runs only on elements that are not frozen.
class UpdateOfRanges {
 public:
  UpdateOfRanges() = default;
  UpdateOfRanges(const ProgramTables& update, const Frozen& frozen) {
    if (frozen.elements() == 0) return;
    const auto groups = static_cast<std::size_t>(update.group_count);
    numbers_ = std::make_unique<bool[]>(groups);
    rows_ = std::make_unique<bool[]>(groups);
    for (int i = 0; i < update.size(); ++i)
      if (const int group = update.group_of[i]; group >= 0)
        (update.node(i).shape.rank == 0 ? numbers_ : rows_)[static_cast<std::size_t>(group)] = true;
  }

  /// Whether something is frozen and this can run.
  bool possible() const { return rows_ != nullptr; }

  /// `run(arguments)`: runs the whole update.
  template <class F>
  void run(StepArguments arguments, const Frozen& frozen, F run) const {
    arguments.needed = numbers_.get();
    run(arguments);
    arguments.needed = rows_.get();
    for (const Frozen::Range range : frozen.free()) {
      arguments.part = cpu::Part::within(range);
      run(arguments);
    }
  }

 private:
  std::unique_ptr<bool[]> numbers_, rows_;  // whether a kernel runs, by group
};

}  // namespace gradual::detail
