#pragma once
#include <gradual/autodiff/fuse.hpp>

namespace gradual {

/// Whether a node is computed for each sample, and not once from parameters alone.
constexpr bool is_of_samples(const Node& node) { return node.shape.batched() || is_sample_sum(node.op->kind); }

/// Returns the floating-point operations of a node, per sample if it is computed for each sample.
constexpr std::int64_t own_flops_of(const Node* nodes, int id) {
  const Node& node = nodes[id];
  const Shape& a = nodes[node.in[0] < 0 ? 0 : node.in[0]].shape;
  switch (node.op->kind) {
    case Kind::contract:
      return 2 * node.shape.unit() * product_of(node, a).k;
    case Kind::batch_contract:
      return 2 * a.unit() * node.shape.extent[node.shape.rank - 1];
    case Kind::convolve:
    case Kind::batch_convolve:
      return 2 * a.extent[0] * convolution_of(node, a, nodes[node.in[1]].shape).multiply_adds();
    case Kind::pool:
      return node.shape.product(0, 2) * recorded_pooling(nodes, node).places();
    case Kind::gather:
    case Kind::gather_own:
      return 0;
    case Kind::row_reduce:
    case Kind::batch_reduce:
    case Kind::scatter_own:
    case Kind::batch_scatter:
      return a.unit();
    default:
      return detail::recomputed(node.op->kind) ? 0 : node.shape.unit();
  }
}

/// Returns the operations of a node per sample; nodes of parameters alone count as 0.
constexpr std::int64_t flops_of(const Node* nodes, int id) {
  return is_of_samples(nodes[id]) ? own_flops_of(nodes, id) : 0;
}

/// Returns the same for everything that a program computes.
template <class P>
constexpr std::int64_t flops_per_sample() {
  std::int64_t sum = 0;
  for (int i = 0; i < P::nodes; ++i)
    if (P::schedule.group_of[i] >= 0 && !P::schedule.is_inside_join(i)) sum += flops_of(P::graph.nodes, i);
  return sum;
}

}  // namespace gradual
