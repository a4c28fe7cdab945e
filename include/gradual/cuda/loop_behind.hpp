#pragma once
#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/relu.hpp>
#include <gradual/cuda/library_product.hpp>

namespace gradual::cuda {

/// The loop after a product that a library may apply to the result before it is stored: it adds a bias to each row and may end
/// in a relu.
struct LoopBehind {
  int group = -1;  ///< of the loop; -1: there is none that a library could apply
  int bias = -1;   ///< the node whose memory holds it
  Epilogue epilogue = Epilogue::none;
};

/// Returns the loop after the product that is node `id` of program P. It must be the next kernel, compute nothing else, and
/// store its one result where the product's was: any other place may still hold an operand of the product.
template <class P>
constexpr LoopBehind loop_behind(int id) {
  const auto& nodes = P::graph.nodes;
  const auto& schedule = P::schedule;
  const int g = schedule.group_of[id] + 1;
  const Node& product = nodes[id];
  if (g >= schedule.group_count || product.op->kind != Kind::contract || product.shape.rank != 2) return {};
  const Group& loop = schedule.groups[g];
  if (loop.kind != Kind::map || loop.count > 2 || loop.row_reduces || loop.batch_reduces) return {};
  const int add = schedule.members[loop.first], last = schedule.members[loop.first + loop.count - 1];
  if (!is<Add>(nodes[add]) || (loop.count == 2 && !(is<Relu>(nodes[last]) && nodes[last].in[0] == add))) return {};
  const int other = nodes[add].in[nodes[add].in[0] == id ? 1 : 0];
  if (nodes[add].in[0] != id && nodes[add].in[1] != id) return {};
  if (nodes[other].op->kind != Kind::broadcast) return {};
  const int bias = nodes[other].in[0];
  if (nodes[bias].shape.rank != 1 || nodes[bias].shape.batched() ||
      nodes[bias].shape.extent[0] != product.shape.extent[1] || schedule.storage[bias] != bias ||
      nodes[bias].dtype != DType::f32)
    return {};
  const bool in_place = P::plan.lifetime_of[id] >= 0 && P::plan.lifetime_of[id] == P::plan.lifetime_of[last];
  if (!in_place || schedule.storage[last] != last || (loop.count == 2 && schedule.storage[add] >= 0)) return {};
  return {g, bias, loop.count == 2 ? Epilogue::bias_relu : Epilogue::bias};
}

}  // namespace gradual::cuda
