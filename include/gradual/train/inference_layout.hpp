#pragma once
#include <gradual/train/memory.hpp>

namespace gradual {

/// Where everything of an inference lies: one block of weights, which copies share, and one that comes and goes.
template <class Net>
class InferenceLayout {
  using P = typename Net::Prediction;

 public:
  /// Errors: OptionError for a batch that is not positive; ShapeError for one whose bytes cannot be counted.
  static constexpr MemoryTable table(std::int64_t batch) {
    check_countable<P>(batch);
    MemoryTable t;
    t.parameters = aligned(Net::parameter_elements * 4);
    for (int i = 0; i < P::nodes; ++i)
      if (is_derived(i)) t.derived += derived_bytes(i);
    t.activations = P::plan.bytes(batch);
    t.workspace = cpu::Executor<P>::workspace_bytes();
    return t;
  }

  static constexpr bool is_derived(int i) {
    return P::schedule.storage[i] == i && P::schedule.phase[i] == Phase::prologue && P::graph.nodes[i].op->kind != Kind::input;
  }
  static constexpr std::int64_t derived_bytes(int i) {
    return aligned(P::graph.nodes[i].shape.unit() * static_cast<std::int64_t>(size_of(P::graph.nodes[i].dtype)));
  }
};

}  // namespace gradual
