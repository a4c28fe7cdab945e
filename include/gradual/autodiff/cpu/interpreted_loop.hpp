#pragma once
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/shared_loops.hpp>
#include <gradual/autodiff/step_arguments.hpp>

namespace gradual::cpu {

/// A loop as data.
struct InterpretedLoop {
  LoopForm form;
  const Node* nodes;  ///< of its program
  /// The bytes of a sum of floats over samples, and what adds a finished block to some of such sums.
  std::int64_t total_bytes;
  void (*add_block)(void* totals, const void* block, Part::Range);

  static constexpr int most_slots = 4 * max_members + most_pieces;
};

/// Adds numbers to sums, which may be of another type.
template <class Total, class Block>
void add_block(void* totals, const void* block, Part::Range part) {
  for (std::int64_t i = part.begin; i < part.end; ++i) static_cast<Total*>(totals)[i] += static_cast<const Block*>(block)[i];
}

template <class P, int G>
inline constexpr InterpretedLoop interpreted_loop = [] {
  using Total = typename gradual::detail::ShadowIn<P>::type;
  static_assert(loop_forms<P>[G].count <= InterpretedLoop::most_slots);
  return InterpretedLoop{loop_forms<P>[G], P::graph.nodes, sizeof(Total), &add_block<Total, float>};
}();

/// Runs the `InterpretedLoop` that `arguments.loop` points to, op by op, to the bits of its `LoopKernel`. Code that does not
/// depend on the net: it takes no time to compile, and is fast where the net's source is not optimised.
void interpret_loop(const StepArguments& arguments);

}  // namespace gradual::cpu

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/cpu/interpreted_loop.ipp>
#endif
