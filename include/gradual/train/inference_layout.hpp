#pragma once
#include <gradual/autodiff/program.hpp>
#include <gradual/train/memory.hpp>

namespace gradual {

/// Where everything of an inference lies: one block of weights, which copies share, and one that comes and goes.
template <class Net>
class InferenceLayout {
  using P = typename Net::Prediction;
  static constexpr std::int64_t real_bytes = sizeof(typename Net::Real);

 public:
  /// Errors: OptionError for a batch that is not positive; ShapeError for one whose bytes cannot be counted.
  static constexpr MemoryTable table(std::int64_t batch) {
    check_countable(countable_batch(P::tables), batch);
    MemoryTable t;
    t.parameters = aligned(Net::parameter_elements * real_bytes);
    for (int i = 0; i < P::nodes; ++i)
      if (P::tables.is_derived(i)) t.derived += P::tables.node_bytes(i);
    t.inputs = staged_bytes(batch);
    t.activations = P::plan.bytes(batch);
    t.workspace = Net::Backend::template workspace_bytes<P>(1, batch);
    return t;
  }

  /// Samples, and behind them predictions, where kernels cannot reach the caller's.
  static constexpr std::int64_t staged_samples(std::int64_t batch) {
    std::int64_t bytes = 0;
    for (int i = 0; i < P::graph.counts.inputs && !Net::Backend::shares_host_memory; ++i) {
      const InputInfo& input = P::graph.inputs[i];
      bytes += aligned(input.shape.elements(batch) * size_of(input.dtype));
    }
    return bytes;
  }
  static constexpr std::int64_t staged_bytes(std::int64_t batch) {
    if (Net::Backend::shares_host_memory) return 0;
    return staged_samples(batch) + aligned(P::graph.nodes[P::root(Role::prediction)].shape.elements(batch) * real_bytes);
  }
};

}  // namespace gradual
