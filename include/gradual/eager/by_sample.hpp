#pragma once
#include <gradual/autodiff/ops.hpp>

namespace gradual::eager {

/// Whether nodes of this kind are not kept in memory.
constexpr bool is_view(Kind kind) {
  return kind == Kind::constant || kind == Kind::iota || kind == Kind::broadcast || kind == Kind::transpose ||
         kind == Kind::slice || kind == Kind::uses;
}

/// Whether a node has its operand's memory.
inline bool shares_memory(const Node& node) { return node.op->kind == Kind::reshape || is<StopGradient>(node); }

/// Whether the elements of one sample are contiguous, or there are no samples.
constexpr bool samples_first(const Shape& shape) { return shape.batch_axis <= 0; }

/// Whether an op computes each sample from the same sample of its operands, so that it can run a few samples at a time,
/// together with nodes from `first` on. A view from before `first` is of all samples.
bool by_sample(const Tape& tape, const Node& node, int first);

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/by_sample.ipp>
#endif
