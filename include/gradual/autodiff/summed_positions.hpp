#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Returns the number of positions of one sample in a sum over samples, whose operands are among `nodes`.
constexpr std::int64_t summed_positions(const Node* nodes, const Node& sum) {
  const Shape& first = nodes[sum.in[0]].shape;
  if (sum.op->kind == Kind::batch_reduce) return first.product(0, static_cast<int>(sum.attributes.integer[0]));
  if (sum.op->kind == Kind::batch_contract) return first.extent[0];
  const Shape& outputs = nodes[sum.in[1]].shape;  // of a convolution, or indices
  if (sum.op->kind == Kind::batch_scatter) return outputs.unit();
  return outputs.extent[0] * outputs.extent[2] * outputs.extent[3];
}

}  // namespace gradual
