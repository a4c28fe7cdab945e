#pragma once
#include <gradual/cuda/reduction_tile.hpp>

namespace gradual::cuda {

inline constexpr int long_row_threads = 1024;
inline constexpr int long_row_tile = 4 * long_row_threads / warp_size;  ///< rows: a thread loads four elements at once
inline constexpr std::int64_t long_row = 2048;  ///< columns from which on a block for each row pays

/// Whether so few rows would leave most of a GPU idle, if each had only a warp.
constexpr bool are_few(std::int64_t rows) { return rows < 4 * multiprocessors; }

/// Processes a long row in tiles of `Rows` × 32 elements, whose columns are the canonical lanes: all threads of the block call
/// fill(row of the tile, column of the row) for its elements, then the lanes of one warp call join(the same) for theirs, in
/// order. A warp alone would wait for memory after each 32 elements.
template <int Rows, class Fill, class Join>
GRADUAL_DEVICE void for_tiles_of_row(std::int64_t columns, Fill fill, Join join) {
  const int warp = thread_index() / warp_size, lane = thread_index() % warp_size;
  for (std::int64_t first = lane; first - lane < columns; first += Rows * warp_size) {
    GRADUAL_UNROLL(4)
    for (int i = warp; i < Rows; i += long_row_threads / warp_size)
      if (const std::int64_t c = first + i * warp_size; c < columns) fill(i, c);
    barrier();
    for (int i = 0; warp == 0 && i < Rows; ++i)
      if (const std::int64_t c = first + i * warp_size; c < columns) join(i, c);
    barrier();
  }
}

/// The tiles of a loop.
template <class Body>
struct LongRowTile : ReductionTile<Body, is_row_reduced, long_row_tile> {
  static constexpr bool pays = Body::group.row_reduces && Body::columns >= long_row;
};

/// Reduces rows, a block for each; writes no elements, which would wait for one another.
template <class Body>
GRADUAL_DEVICE void reduce_long_rows(const LoopMemory<Body::slots>& memory, const Step& step,
                                     typename LongRowTile<Body>::Shared& shared) {
  using Tile = LongRowTile<Body>;
  const std::int64_t rows = Body::rows * (Body::batched ? step.batch : 1);
  const int lane = thread_index() % warp_size;
  for (std::int64_t r = block_index(); r < rows; r += block_count()) {
    typename Body::Row row;
    Body::start_row(memory, step.random, row, r);
    detail::LaneSink<Body> lanes;
    lanes.begin_row();
    const auto fill = [&](int i, std::int64_t c) {
      typename Tile::Sink sink{shared, i, lane};
      Body::template element<false>(row, sink, c);
    };
    const auto join = [&](int i, std::int64_t c) {
      Body::template for_slots<is_row_reduced>([&](auto s) {
        using T = typename Body::template Operand<s()>;
        lanes.template reduce<s()>(static_cast<T>(shared.tile[Tile::template place<s()>][i][lane]), c);
      });
    };
    for_tiles_of_row<Tile::rows>(Body::columns, fill, join);
    if (thread_index() < warp_size) finish_row<Body, warp_size>(row, lanes);
  }
}

/// The one kernel of long rows.
template <class Body>
GRADUAL_KERNEL_OF(long_row_threads) void long_row_kernel(LoopMemory<Body::slots> memory, const Step* step) {
  GRADUAL_SHARED typename LongRowTile<Body>::Shared shared;
  if (!step->skipped) reduce_long_rows<Body>(memory, *step, shared);
}

}  // namespace gradual::cuda
