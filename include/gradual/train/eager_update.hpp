#pragma once
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include <gradual/eager/cpu/elementwise_replay.hpp>
#include <gradual/eager/replay.hpp>
#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// An update rule run over flat parameters: traced once, and run a chunk at a time where every element stands for itself,
/// else (norms) op by op over all elements, or over the parameters one by one.
class EagerUpdate {
 public:
  /// `parameters`: as declared, each beginning where `offsets` says, the last of which is the number of all elements.
  /// Errors: MemoryError, OptionError.
  template <class Rule>
  EagerUpdate(const Device& device, const Rule& rule, std::span<const ParameterInfo> parameters,
              std::span<const std::int64_t> offsets)
      : offsets_(offsets.begin(), offsets.end()) {
    Tape tape = trace_update(rule, parameters);
    if (eager::ElementwiseReplay::suits(tape, offsets.back())) by_chunks_.emplace(device, std::move(tape), OpsFor<Rule>{});
    else by_ops_.emplace(device, std::move(tape), OpsFor<Rule>{});
    scalars_.resize(this->tape().scalars.size());
    check_rates(rule, this->tape().scalars);
    if (by_chunks_) return;
    for (std::size_t i = 0; i < this->tape().inputs.size(); ++i) by_ops_->executor().bind_input(nullptr);
    by_ops_->executor().bind_scalars(scalars_.data());
    results_.reserve(this->tape().roots.size());
  }

  /// One update, after `steps` others: arena[0] holds the parameters, arena[1] the window's summed gradient of that
  /// weight, the others the state. Errors: MemoryError, before anything is changed.
  void run(float* const* arena, double weight, std::int64_t steps) {
    const std::vector<Scalar>& scalars = tape().scalars;
    for (std::size_t s = rule_scalars; s < scalars.size(); ++s) scalars_[s] = static_cast<float>(scalars[s].at(steps));
    scalars_[window_weight] = static_cast<float>(weight);
    scalars_[step_count] = static_cast<float>(steps + 1);
    if (by_chunks_) by_chunks_->run(scalars_.data(), offsets_.back(), [&](std::int64_t index) { return place(arena, index); });
    else run_by_ops(arena);
  }

 private:
  const Tape& tape() const { return by_chunks_ ? by_chunks_->tape() : by_ops_->tape(); }

  /// Where an input or root lies.
  float* place(float* const* arena, std::int64_t index) const {
    const auto [array, parameter] = update_place(index, detail::array_count(tape()));
    return arena[array] + (parameter < 0 ? 0 : offsets_[static_cast<std::size_t>(parameter)]);
  }

  void run_by_ops(float* const* arena) {
    struct Emptied {
      std::vector<eager::Storage>& results;
      ~Emptied() { results.clear(); }
    } const afterwards{results_};
    for (std::size_t i = 0; i < tape().inputs.size(); ++i)
      by_ops_->executor().rebind_input(i, place(arena, static_cast<std::int64_t>(i)));
    by_ops_->run();
    for (std::size_t r = 0; r < tape().roots.size(); ++r) results_.push_back(by_ops_->root(r).storage());
    by_ops_->release();
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const Root& root = tape().roots[r];
      const auto bytes = static_cast<std::size_t>(tape()[root.node].shape.unit()) * sizeof(float);
      std::memcpy(place(arena, root.index), results_[r].data(), bytes);
    }
  }

  std::vector<std::int64_t> offsets_;
  std::optional<eager::ElementwiseReplay> by_chunks_;
  std::optional<eager::Replay> by_ops_;
  std::vector<float> scalars_;
  std::vector<eager::Storage> results_;  ///< of each root, all computed before the first is written
};

}  // namespace gradual
