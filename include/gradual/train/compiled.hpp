#pragma once
#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/train/memory.hpp>

namespace gradual {

namespace detail {
template <class Model, class In>
struct TrainingTrace {
  using Ops = OpsFor<Model>;
  static constexpr Tape tape() { return trace_training<Model>(In{}); }
};
template <class Model, class In>
struct InferenceTrace {
  using Ops = OpsFor<Model>;
  static constexpr Tape tape() { return trace_inference<Model>(In{}); }
};
template <class Rule, std::int64_t Elements>
struct UpdateTrace {
  using Ops = OpsFor<Rule>;
  static constexpr Tape tape() { return trace_update(Rule{}, Elements); }
};
}  // namespace detail

/// A model compiled for samples of the given types: `Compiled<Mlp, Inputs<f32[64], i32>>`.
template <class Model, class In, class Where = Cpu>
struct Compiled {
  using Backend = Where;
  using Training = Program<detail::TrainingTrace<Model, In>>;
  using Prediction = Program<detail::InferenceTrace<Model, In>>;
  using InputTypes = In;

  static constexpr int parameter_count = Training::graph.counts.parameters;
  static constexpr const ParameterInfo& parameter(int index) { return Training::graph.parameters[index]; }

  /// Index of a parameter's first element among all parameters, which lie one after another; for the index past the
  /// last one, the number of all elements.
  static constexpr std::int64_t parameter_offset(int index) {
    std::int64_t offset = 0;
    for (int p = 0; p < index; ++p) offset += parameter(p).shape.unit();
    return offset;
  }
  static constexpr std::int64_t parameter_elements = parameter_offset(parameter_count);

  template <class Rule>
  using UpdateOf = Program<detail::UpdateTrace<Rule, parameter_elements>>;

  /// Bytes that a session with this optimizer allocates for micro-batches of `micro_batch`, by category.
  template <class Optimizer>
  static constexpr MemoryTable training_memory(const Optimizer&, std::int64_t micro_batch,
                                               OpenBlocks open = OpenBlocks::as_needed, int threads = 1) {
    return TrainingLayout<Compiled, RuleOf<Optimizer>>(micro_batch, 0, open, threads).table();
  }
};

}  // namespace gradual
