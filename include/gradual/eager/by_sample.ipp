#pragma once
#include <gradual/eager/by_sample.hpp>

namespace gradual::eager {

/// Whether each sample of a view comes from the same sample of its operand.
inline bool view_by_sample(const Tape& tape, const Node& node) {
  if (!samples_first(node.shape) || node.op->kind == Kind::uses) return false;
  if (node.op->kind == Kind::constant || !node.shape.batched()) return true;
  if (node.op->kind == Kind::iota) return node.attributes.integer[0] != 0;
  const Shape& source = tape[node.in[0]].shape;
  if (node.op->kind == Kind::broadcast) return !source.batched() || source.rank == node.shape.rank;
  if (node.op->kind == Kind::slice) return node.attributes.integer[0] != 0;
  return samples_first(source) && Transpose::source_axis(node.attributes, 0) == 0;
}

GRADUAL_ONCE bool by_sample(const Tape& tape, const Node& node, int first) {
  const Kind kind = node.op->kind;
  const bool local = kind == Kind::map || kind == Kind::row_reduce || kind == Kind::reshape;
  if (!local || node.shape.batch_axis != 0) return false;
  for (int k = 0; k < node.op->arity; ++k)
    for (int id = node.in[k];; id = tape[id].in[0]) {
      const Node& operand = tape[id];
      if (!samples_first(operand.shape)) return false;
      if (!is_view(operand.op->kind)) break;
      if (!view_by_sample(tape, operand)) return false;
      if (operand.op->arity == 0) break;
      if (id < first && operand.shape.batched()) return false;
    }
  return true;
}

}  // namespace gradual::eager
