#pragma once
#include <gradual/autodiff/cut_positions.hpp>
#include <gradual/autodiff/fuse.hpp>
#include <gradual/autodiff/lifetimes.hpp>
#include <gradual/core/canonical.hpp>

namespace gradual::cuda {

/// The sums over the batch of one loop, and whether their blocks are summed side by side first.
struct ColumnSplit {
  std::int64_t columns = 1, positions = 1;  ///< positions of one sample
  std::int64_t sums = 0, chain_bytes = 4;

  /// In how many blocks a micro-batch of `capacity` samples can lie; 0 where they are not summed side by side: they are few,
  /// or tiles of columns keep all of a GPU's multiprocessors busy.
  constexpr std::int64_t blocks(std::int64_t capacity) const {
    constexpr std::int64_t multiprocessors = 132, few = 4;
    if (columns > multiprocessors * 32) return 0;
    const std::int64_t countable = (std::int64_t{1} << 61) / (columns * positions) / (sums * chain_bytes);
    const std::int64_t most = block_number((capacity < countable ? capacity : countable) * positions - 1, positions) + 2;
    return most < few ? 0 : most;
  }
  /// Bytes of their chains.
  constexpr std::int64_t bytes(std::int64_t capacity) const { return aligned(blocks(capacity) * columns * sums * chain_bytes); }
};

/// That of kernel group `g` of program P, which reduces over the batch.
template <class P>
constexpr ColumnSplit column_split(int g) {
  const Group& group = P::schedule.groups[g];
  ColumnSplit split;
  for (int m = 0; m < group.count; ++m) {
    const Node& node = P::graph.nodes[P::schedule.members[group.first + m]];
    if (node.op->kind != Kind::batch_reduce) continue;
    ++split.sums;
    split.columns = node.shape.unit();
    split.positions = cut_positions(P::graph.nodes, node);
    if (P::graph.nodes[node.in[0]].dtype == DType::f64) split.chain_bytes = 8;
  }
  return split;
}

/// Bytes of workspace that the sums of a program need for micro-batches of `capacity`.
template <class P>
constexpr std::int64_t column_workspace(std::int64_t capacity) {
  std::int64_t most = 0;
  for (int g = 0; g < P::schedule.group_count; ++g) {
    if (!P::schedule.groups[g].batch_reduces) continue;
    const std::int64_t bytes = column_split<P>(g).bytes(capacity);
    most = most < bytes ? bytes : most;
  }
  return most;
}

}  // namespace gradual::cuda
