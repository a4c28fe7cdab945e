#pragma once
#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/fuse.hpp>
#include <gradual/autodiff/lifetimes.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

/// How sums over the batch are split into blocks that are summed side by side and then added in order, where the results are
/// too few to keep a GPU busy.
struct BlockSplit {
  std::int64_t chains = 0;     ///< of each block
  std::int64_t positions = 1;  ///< of one sample
  std::int64_t chain_bytes = 4;
  std::int64_t most_chains = 0;  ///< beyond which nothing is gained

  /// Returns the most blocks that a micro-batch of `capacity` samples touches; 0 where they are not summed side by side.
  constexpr std::int64_t blocks(std::int64_t capacity) const {
    if (chains > most_chains || chains == 0 || positions == 0) return 0;
    const std::int64_t countable = (std::int64_t{1} << 61) / positions / (chains * chain_bytes);
    const std::int64_t most = block_number((capacity < countable ? capacity : countable) * positions - 1, positions) + 2;
    return most < 4 ? 0 : most;
  }
  /// Returns the bytes of all chains.
  constexpr std::int64_t bytes(std::int64_t capacity) const { return aligned(blocks(capacity) * chains * chain_bytes); }
};

/// Returns the split of kernel group `g` of program P, a loop that reduces over the batch: its columns have a chain for each
/// sum, and each multiprocessor takes 32 of them.
template <class P>
constexpr BlockSplit column_split(int g) {
  const Group& group = P::schedule.groups[g];
  BlockSplit split;
  for (int m = 0; m < group.count; ++m) {
    const Node& node = P::graph.nodes[P::schedule.members[group.first + m]];
    if (node.op->kind != Kind::batch_reduce) continue;
    split.chains += node.shape.unit();
    split.positions = summed_positions(P::graph.nodes, node);
    split.most_chains += multiprocessors * warp_size;
    if (P::graph.nodes[node.in[0]].dtype == DType::f64) split.chain_bytes = 8;
  }
  return split;
}

/// The limit for products: their chains take at most half as much memory as their operands.
inline constexpr std::int64_t most_products_in_blocks = 128 * 128;

/// Returns the split of a product over samples, or of a convolution's: its result has a chain for each element.
template <class P>
constexpr BlockSplit contraction_split(int node) {
  const Node& sum = P::graph.nodes[node];
  const bool wide = P::graph.nodes[sum.in[0]].dtype == DType::f64;
  return {sum.shape.unit(), summed_positions(P::graph.nodes, sum), wide ? 8 : 4, most_products_in_blocks};
}

/// Returns the bytes of workspace that a program's sums need for micro-batches of `capacity`. `here(node)`: whether the kernels
/// here compute the product or convolution of a node.
template <class P, class F>
constexpr std::int64_t split_workspace(std::int64_t capacity, F here) {
  std::int64_t most = 0;
  const auto add = [&](const BlockSplit& split) {
    const std::int64_t bytes = split.bytes(capacity);
    most = most < bytes ? bytes : most;
  };
  for (int g = 0; g < P::schedule.group_count; ++g) {
    const Group& group = P::schedule.groups[g];
    const int first = P::schedule.members[group.first];
    if (group.batch_reduces) add(column_split<P>(g));
    else if ((group.kind == Kind::batch_contract || group.kind == Kind::batch_convolve) && here(first))
      add(contraction_split<P>(first));
  }
  return most;
}

}  // namespace gradual::cuda
