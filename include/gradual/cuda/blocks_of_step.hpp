#pragma once
#include <gradual/core/block_pieces.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// The period after which a window's blocks start afresh: whole samples that share one block, or a sample that has several.
struct BlockPeriod {
  std::int64_t positions, blocks;
  GRADUAL_DEVICE explicit BlockPeriod(std::int64_t of_sample)
      : positions(of_sample < canonical_block ? block_positions(of_sample) : of_sample),
        blocks((positions + canonical_block - 1) / canonical_block) {}
};

/// The blocks that a micro-batch touches, for a sum of `positions` positions in each sample.
struct BlocksOfStep {
  std::int64_t count, closed;  ///< number of blocks, and of closed ones, which come first

  GRADUAL_DEVICE BlocksOfStep(const Step& step, std::int64_t positions)
      : period_(positions), begin_(step.begin * positions), end_(begin_ + positions * step.batch) {
    first_ = block_number(begin_, positions);
    count = block_number(end_ - 1, positions) - first_ + 1;
    closed = step.last || block_end(end_ - 1, positions) == end_ ? count : count - 1;
  }

  /// A block's rows [begin, end) of the micro-batch; `goes_on`: an earlier one began the block.
  struct Rows {
    std::int64_t begin, end;
    bool goes_on;
  };
  GRADUAL_DEVICE Rows rows(std::int64_t number) const {
    const std::int64_t block = first_ + number, period = period_.blocks == 1 ? block : block / period_.blocks;
    const std::int64_t start = period * period_.positions + (block - period * period_.blocks) * canonical_block;
    const std::int64_t end = smaller(smaller(start + canonical_block, (period + 1) * period_.positions), end_);
    return {start < begin_ ? 0 : start - begin_, end - begin_, start < begin_};
  }

 private:
  GRADUAL_DEVICE static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  BlockPeriod period_;
  std::int64_t begin_, end_, first_;
};

/// Parts of `BlockPieces`, of at most `Most` positions, counted from the start of the micro-batch. Each follows from the one
/// before without a division, for which a GPU has no unit.
template <int Most>
class BlockParts {
 public:
  /// The parts of `count` positions of a window from `begin` on. `last`: the window ends with them.
  GRADUAL_DEVICE BlockParts(std::int64_t begin, std::int64_t count, std::int64_t of_sample, bool last)
      : end_(count), last_(last), period_(BlockPeriod(of_sample).positions) {
    const std::int64_t into_period = begin == 0 ? 0 : begin % period_;
    period_end_ = period_ - into_period;
    begin_block(-(into_period % canonical_block));
    begins_ = into_period % canonical_block == 0;
  }
  /// The parts of rows of one block.
  GRADUAL_DEVICE explicit BlockParts(const BlocksOfStep::Rows& rows)
      : at_(rows.begin), end_(rows.end), last_(true), period_(0), period_end_(rows.end) {
    begin_block(rows.begin);
  }

  GRADUAL_DEVICE bool any() const { return at_ < end_; }
  GRADUAL_DEVICE BlockPiece operator*() const {
    const std::int64_t most = at_ + Most < block_end_ ? at_ + Most : block_end_, stop = most < end_ ? most : end_;
    return {at_, stop, begins_, stop == block_end_ || (stop == end_ && last_)};
  }
  GRADUAL_DEVICE void operator++() {
    at_ = (**this).end;
    begins_ = at_ == block_end_;
    if (at_ == period_end_) period_end_ += period_;
    if (begins_) begin_block(at_);
  }

 private:
  GRADUAL_DEVICE void begin_block(std::int64_t at) {
    block_end_ = at + canonical_block < period_end_ ? at + canonical_block : period_end_;
  }

  std::int64_t at_ = 0, end_;
  bool last_, begins_ = true;
  std::int64_t period_, period_end_, block_end_ = 0;
};

/// How chains are added up: a warp adds those of 32 sums, each in order, while all warps of its block read the next ones.
template <class Cell>
struct TotalsTile {
  static constexpr int threads = 512, columns = warp_size, warps = threads / warp_size;
  static constexpr int rows = 32 * 1024 / (columns * static_cast<int>(sizeof(Cell))), each = rows / warps;
  struct Shared {
    Cell tile[rows][columns];
  };

  /// In the first warp, total += `count` chains of type T, from `chain` on, `stride` apart. All threads of the block must call
  /// it. `sums`: whether this lane has a sum.
  template <class T, class W>
  GRADUAL_DEVICE static void add(W& total, const Cell* chain, std::int64_t count, std::int64_t stride, bool sums,
                                 Shared& shared) {
    const int warp = thread_index() / warp_size, lane = thread_index() % warp_size;
    const Cell* at = chain + warp * stride;  // each warp reads every 16th one
    Cell next[each];
    const auto read = [&](std::int64_t first) {
      const std::int64_t left = sums ? count - first : 0;
      const int there = left < rows ? static_cast<int>(left) : rows;
      GRADUAL_UNROLL(16)
      for (int i = 0; i < each; ++i, at += warps * stride) next[i] = warp + i * warps < there ? *at : Cell(0);
    };
    read(0);
    for (std::int64_t first = 0; first < count; first += rows) {
      GRADUAL_UNROLL(16)
      for (int i = 0; i < each; ++i) shared.tile[warp + i * warps][lane] = next[i];
      barrier();
      if (first + rows < count) read(first + rows);
      const int there = count - first < rows ? static_cast<int>(count - first) : rows;
      if (warp == 0) {
        GRADUAL_UNROLL(32)
        for (int i = 0; i < there; ++i) total += static_cast<T>(shared.tile[i][lane]);
      }
      barrier();
    }
  }
};

}  // namespace gradual::cuda
