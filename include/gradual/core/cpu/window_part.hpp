#pragma once
#include <gradual/core/block_pieces.hpp>

namespace gradual::cpu {

/// One micro-batch's part of a contraction over the positions of a window. W: the type that holds sums of blocks.
template <class T, class W = T>
struct WindowPart {
  W* total;            ///< sums of closed blocks
  T* open;             ///< the chains of the unfinished block; may be null if parts begin and end on blocks
  std::int64_t begin;  ///< first position, counted from the window's beginning
  std::int64_t count;  ///< positions
  bool first, last;    ///< whether the window begins and ends here: totals start from +0; the open block closes

  /// `p`: positions of each sample.
  BlockPieces blocks(std::int64_t p) const { return {begin, begin + count, p, last}; }
};

}  // namespace gradual::cpu
