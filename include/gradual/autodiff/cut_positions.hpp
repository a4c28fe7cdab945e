#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Positions that one sample has in the sum of a cut, whose operands are among `nodes`.
constexpr std::int64_t cut_positions(const Node* nodes, const Node& cut) {
  const Shape& first = nodes[cut.in[0]].shape;
  if (cut.op->kind == Kind::batch_reduce) return first.product(0, static_cast<int>(cut.attributes.integer[0]));
  if (cut.op->kind == Kind::batch_contract) return first.extent[0];
  const Shape& outputs = nodes[cut.in[1]].shape;  // of a convolution, or indices
  if (cut.op->kind == Kind::batch_scatter) return outputs.unit();
  return outputs.extent[0] * outputs.extent[2] * outputs.extent[3];
}

}  // namespace gradual
