#pragma once
#include <gradual/core/canonical.hpp>

namespace gradual {

/// The part of one block that lies in a run of positions.
struct BlockPiece {
  std::int64_t begin, end;  ///< counted from the window's beginning
  bool begins, closes;      ///< whether the block's chain starts with it, and whether it ends and joins the total

  GRADUAL_HD constexpr std::int64_t count() const { return end - begin; }
};

/// The positions [begin, end) of a window, block by block, where each sample has p. `last`: the window ends with them, which
/// closes a block left unfinished.
class BlockPieces {
 public:
  GRADUAL_HD constexpr BlockPieces(std::int64_t begin, std::int64_t end, std::int64_t p, bool last)
      : begin_(begin), end_(end), p_(p), last_(last) {}

  struct End {};
  class Iterator {
   public:
    GRADUAL_HD constexpr explicit Iterator(const BlockPieces& all) : all_(all), piece_(all.from(all.begin_)) {}
    GRADUAL_HD constexpr const BlockPiece& operator*() const { return piece_; }
    GRADUAL_HD constexpr void operator++() { piece_ = all_.from(piece_.end); }
    GRADUAL_HD constexpr bool operator!=(End) const { return piece_.begin < all_.end_; }

   private:
    const BlockPieces& all_;
    BlockPiece piece_;
  };
  GRADUAL_HD constexpr Iterator begin() const { return Iterator(*this); }
  GRADUAL_HD constexpr End end() const { return {}; }

 private:
  GRADUAL_HD constexpr BlockPiece from(std::int64_t at) const {
    const std::int64_t block = block_end(at, p_), stop = block < end_ ? block : end_;
    return {at, stop, !is_inside_block(at, p_), stop == block || last_};
  }

  std::int64_t begin_, end_, p_;
  bool last_;
};

}  // namespace gradual
