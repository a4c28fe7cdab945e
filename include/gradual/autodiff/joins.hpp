#pragma once
#include <bit>

#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/ops.hpp>

namespace gradual {

// A join is a sum of zero-padded pieces that lie side by side along one axis: `concat`, `stack` and the adjoint of many slices.
// Each row of it lies in one piece, which a kernel can read without adding up all of them.

/// Fewer pieces, or few with short rows, are as fast when added up; more would be too many addresses for one kernel on a GPU.
inline constexpr int least_pieces = 8, most_pieces = 512;
inline constexpr std::int64_t least_pieces_times_row = 64;

/// Returns the axis along which the pieces of a join lie.
constexpr int join_axis(const Node* nodes, int join) {
  while (!is<Pad>(nodes[join])) join = nodes[join].in[0];
  return static_cast<int>(nodes[join].attributes.integer[0]);
}

namespace detail {

template <int N>
class JoinFinder {
 public:
  /// `has_memory`: which nodes are stored whole, whatever reads them.
  constexpr JoinFinder(const Node* nodes, const bool* has_memory) : nodes_(nodes), has_memory_(has_memory) {
    AtLeastOne<int, N> readers{};
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < nodes[i].op->arity; ++k) ++readers[nodes[i].in[k]];
    for (int i = 0; i < N; ++i) {
      if (!is<Add>(nodes[i])) continue;
      const Span a = span_of(nodes[i].in[0], readers), b = span_of(nodes[i].in[1], readers);
      const bool together = a.pieces > 0 && b.pieces > 0 && a.axis == b.axis && a.negative == b.negative &&
                            (a.last == b.first || b.last == a.first) && a.pieces + b.pieces <= most_pieces;
      if (together)
        spans_[i] = {a.axis, a.first < b.first ? a.first : b.first, a.last < b.last ? b.last : a.last, a.pieces + b.pieces,
                     a.negative};
    }
  }

  /// Writes, for each sum that is part of a join, the whole join, which may be the sum itself; −1 for all other nodes.
  constexpr void find(int* join) const {
    for (int i = 0; i < N; ++i) {
      const int pieces = spans_[i].pieces;
      const std::int64_t row = nodes_[i].shape.product(spans_[i].axis + 1, nodes_[i].shape.rank);
      join[i] = pieces >= least_pieces && pieces * row >= least_pieces_times_row ? i : -1;
    }
    for (int i = N - 1; i >= 0; --i)
      for (int k = 0; k < 2 && join[i] >= 0; ++k)
        if (const int in = nodes_[i].in[k]; spans_[in].pieces > 0) join[in] = join[i];
  }

 private:
  /// The part of an axis that pieces cover.
  struct Span {
    int axis = -1;
    std::int64_t first = 0, last = 0;
    int pieces = 0;
    bool negative = false;  ///< padded with −0
  };

  constexpr Span span_of(int id, const int* readers) const {
    const Node& node = nodes_[id];
    if (has_memory_[id]) return {};
    if (!is<Pad>(node)) return readers[id] == 1 ? spans_[id] : Span{};
    const int axis = static_cast<int>(node.attributes.integer[0]);
    const std::int64_t first = node.attributes.integer[1], extent = nodes_[node.in[0]].shape.extent[axis];
    const bool samples_first = node.shape.batch_axis <= 0;
    if (node.attributes.number != 0 || extent == 0 || !samples_first) return {};
    return {axis, first, first + extent, 1, std::bit_cast<std::uint64_t>(node.attributes.number) != 0};
  }

  const Node* nodes_;
  const bool* has_memory_;
  AtLeastOne<Span, N> spans_{};
};

}  // namespace detail

}  // namespace gradual
