#pragma once
#include <gradual/autodiff/program.hpp>
#include <gradual/train/memory.hpp>

namespace gradual {

namespace detail {
template <class P>
struct InputsOf;
template <class Trace>
struct InputsOf<Program<Trace>> {
  using type = typename Trace::InputTypes;
};
}  // namespace detail

/// The memory layout of an inference with its net's type erased: one block of weights, which copies share, and a transient one.
struct InferenceLayout {
  ProgramTables program;
  std::span<const ParameterInfo> parameters;
  std::int64_t parameter_bytes = 0, real_bytes = 0;
  bool shares_host_memory = true;
  std::int64_t (*workspace)(int threads, std::int64_t batch) = nullptr;
  int prediction = -1;     ///< node of the prediction
  std::int64_t width = 0;  ///< values of the prediction for one sample

  /// Errors: OptionError for a batch that is not positive, or no threads; ShapeError for one whose bytes cannot be counted.
  constexpr MemoryTable table(std::int64_t batch, int threads = 1) const {
    detail::check_threads(threads, "Inference");
    check_countable(countable_batch(program), batch);
    MemoryTable t;
    t.parameters = aligned(parameter_bytes);
    for (int i = 0; i < program.size(); ++i)
      if (program.is_derived(i)) t.derived += program.node_bytes(i);
    t.inputs = staged_bytes(batch);
    t.activations = program.transient_bytes(batch);
    t.workspace = workspace(threads, batch);
    return t;
  }

  /// Returns the bytes of samples, followed by predictions, that are staged where kernels cannot reach the caller's memory.
  constexpr std::int64_t staged_bytes(std::int64_t batch) const {
    if (shares_host_memory) return 0;
    std::int64_t bytes = aligned(program.node(prediction).shape.elements(batch) * real_bytes);
    for (const InputInfo& input : program.inputs) bytes += aligned(input.shape.elements(batch) * size_of(input.dtype));
    return bytes;
  }
};

template <class Net>
inline constexpr InferenceLayout inference_layout{Net::Prediction::tables,
                                                  Net::declared(),
                                                  Net::parameter_elements* std::int64_t{sizeof(typename Net::Real)},
                                                  sizeof(typename Net::Real),
                                                  Net::Backend::shares_host_memory,
                                                  &Net::Backend::template workspace_bytes<typename Net::Prediction>,
                                                  Net::Prediction::root(Role::prediction),
                                                  Net::Prediction::tables.root_unit(Role::prediction)};

}  // namespace gradual
