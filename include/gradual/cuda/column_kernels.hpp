#pragma once
#include <gradual/core/block_pieces.hpp>
#include <gradual/cuda/blocks_of_step.hpp>
#include <gradual/cuda/reduction_tile.hpp>

namespace gradual::cuda {

/// How sums over the batch are divided: a block of at most `Threads` threads computes tiles of rows × columns, whose columns
/// are then summed by one warp.
template <class Body, int Threads = 1024, int Each = elements_at_once<Body>>
struct ColumnTile : ReductionTile<Body, is_batch_reduced, Threads / warp_size * Each> {
  using Loop = Body;
  static constexpr std::int64_t across = (Body::columns + warp_size - 1) / warp_size;  ///< tiles
  static constexpr int threads = ColumnTile::rows < Threads / warp_size ? ColumnTile::rows * warp_size : Threads;
  static constexpr int each = ColumnTile::rows * warp_size / threads;  ///< rows that a thread computes
};

namespace detail {

/// Adds rows [at, stop) of a micro-batch to the chains of a tile's columns, in order; all threads of the block must call it.
template <class Tile, class Body>
GRADUAL_DEVICE void add_rows(const LoopMemory<Body::slots>& memory, const Step& step, typename Tile::Shared& shared,
                             std::int64_t at, std::int64_t stop, std::int64_t c, LaneSink<Body>& chain) {
  const int tile_row = thread_index() / Tile::columns, tile_column = thread_index() % Tile::columns;
  constexpr int apart = Tile::rows / Tile::each;
  for (std::int64_t first = at; first < stop; first += Tile::rows) {
    typename Body::Row row[Tile::each];
    typename Body::Values values[Tile::each];
    const auto for_rows = [&](auto f) {
      GRADUAL_UNROLL(8)
      for (int n = 0; n < Tile::each; ++n)
        if (const std::int64_t r = first + tile_row + n * apart; r < stop && c < Body::columns) {
          typename Tile::Sink sink{shared, tile_row + n * apart, tile_column};
          f(row[n], values[n], sink, r);
        }
    };
    for_rows([&](auto& of_row, auto& value, auto&, std::int64_t r) {
      Body::start_row(memory, step.random, of_row, r);
      Body::read_element(of_row, value, c);
    });
    for_rows([&](auto& of_row, auto& value, auto& sink, std::int64_t) { Body::finish_element(of_row, value, sink, c); });
    barrier();
    const int count = static_cast<int>(stop - first < Tile::rows ? stop - first : Tile::rows);
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      if (tile_row != 0 || c >= Body::columns) return;
      auto& mine = chain.template lane<s()>();
      using T = typename Body::template Operand<s()>;
      for (int i = 0; i < count; ++i) mine += static_cast<T>(shared.tile[Tile::template place<s()>][i][tile_column]);
    });
    barrier();
  }
}

/// Adds what is summed over the batch to the chains of a thread's own column.
template <class Body>
struct ChainSink : LaneSink<Body> {
  template <int S>
  static constexpr bool takes = is_batch_reduced(Body::plan.slots[S]);

  template <int S, class X>
  GRADUAL_DEVICE void reduce(X x, std::int64_t) {
    if constexpr (takes<S>)
      this->template lane<S>() += static_cast<typename Body::template Operand<S>>(x);
  }
};

}  // namespace detail

/// Computes sums over the batch in blocks of `canonical_block` positions, each a chain in the order of rows; chains are added
/// to the total in order.
template <class Tile, class Body = typename Tile::Loop>
GRADUAL_DEVICE void sum_columns(const LoopMemory<Body::slots>& memory, const Step& step,
                                typename Tile::Shared& shared) {
  constexpr std::int64_t columns = Body::columns, positions = Body::rows;
  const std::int64_t begin = step.begin * positions, end = begin + positions * step.batch;
  for (std::int64_t t = block_index(); t < Tile::across; t += block_count()) {
    const std::int64_t c = t * Tile::columns + thread_index() % Tile::columns;
    const bool adds = thread_index() < Tile::columns && c < columns;  // this thread owns the chains of its column
    detail::Totals<Body> total;
    detail::LaneSink<Body> chain;  // a number for each slot
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      using T = typename Body::template Operand<s()>;
      using W = typename Body::template Total<s()>;
      total.template of<s()>() = adds && !step.first ? static_cast<const W*>(memory.written[s()])[c] : W{};
      chain.template lane<s()>() = adds ? static_cast<const T*>(memory.chain[s()])[c] : T(0);
    });
    for (const BlockPiece& piece : BlockPieces(begin, end, positions, step.last)) {
      if (piece.begins)
        Body::template for_slots<is_batch_reduced>([&](auto s) { chain.template lane<s()>() = 0; });
      detail::add_rows<Tile>(memory, step, shared, piece.begin - begin, piece.end - begin, c, chain);
      if (piece.closes)
        Body::template for_slots<is_batch_reduced>([&](auto s) { total.template of<s()>() += chain.template lane<s()>(); });
    }
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      if (!adds) return;
      static_cast<typename Body::template Total<s()>*>(memory.written[s()])[c] = total.template of<s()>();
      static_cast<typename Body::template Operand<s()>*>(memory.chain[s()])[c] = chain.template lane<s()>();
    });
  }
}

/// The one column kernel.
template <class Body>
GRADUAL_KERNEL_OF(ColumnTile<Body>::threads) void column_kernel(LoopMemory<Body::slots> memory, const Step* step) {
  GRADUAL_SHARED typename ColumnTile<Body>::Shared shared;
  if (!step->skipped) sum_columns<ColumnTile<Body>>(memory, *step, shared);
}

/// The same sums in two steps, where columns are too few to fill a GPU. First, the chains of all blocks that the micro-batch
/// touches are computed side by side: a thread block for each tile of columns and each block of rows. `chains`: by sum, block
/// (of `most`) and column.
template <class Body>
GRADUAL_KERNEL_OF(ColumnTile<Body>::threads) void column_blocks_kernel(
    LoopMemory<Body::slots> memory, typename ColumnTile<Body>::Cell* chains, std::int64_t most, const Step* step) {
  if (step->skipped) return;
  using Tile = ColumnTile<Body>;
  constexpr std::int64_t columns = Body::columns, positions = Body::rows, across = Tile::across;
  GRADUAL_SHARED typename Tile::Shared shared;
  const std::int64_t c = block_index() % across * Tile::columns + thread_index() % Tile::columns;
  const bool adds = thread_index() < Tile::columns && c < columns;
  const BlocksOfStep blocks(*step, positions);
  for (std::int64_t i = block_index() / across; i < blocks.count; i += block_count() / across) {
    const BlocksOfStep::Rows rows = blocks.rows(i);
    detail::LaneSink<Body> chain;
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      using T = typename Body::template Operand<s()>;
      chain.template lane<s()>() = adds && rows.goes_on ? static_cast<const T*>(memory.chain[s()])[c] : T(0);
    });
    detail::add_rows<Tile>(memory, *step, shared, rows.begin, rows.end, c, chain);
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      if (adds) chains[(Tile::template place<s()> * most + i) * columns + c] = chain.template lane<s()>();
    });
  }
}

/// The same where these chains are enough to keep a GPU busy: a thread for each, so that none waits for others.
template <class Body>
GRADUAL_KERNEL_OF(map_threads) void column_chains_kernel(LoopMemory<Body::slots> memory,
                                                         typename ColumnTile<Body>::Cell* chains, std::int64_t most,
                                                         const Step* step) {
  if (step->skipped) return;
  constexpr std::int64_t columns = Body::columns;
  constexpr int each = elements_at_once<Body>;
  const BlocksOfStep blocks(*step, Body::rows);
  for (std::int64_t i = global_thread(); i < columns * blocks.count; i += global_threads()) {
    const std::int64_t c = i % columns, block = i / columns;
    const BlocksOfStep::Rows rows = blocks.rows(block);
    detail::ChainSink<Body> chain;
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      using T = typename Body::template Operand<s()>;
      chain.template lane<s()>() = rows.goes_on ? static_cast<const T*>(memory.chain[s()])[c] : T(0);
    });
    for (std::int64_t first = rows.begin; first < rows.end; first += each) {
      typename Body::Row row[each];
      typename Body::Values values[each];
      GRADUAL_UNROLL(4)
      for (int n = 0; n < each; ++n)
        if (first + n < rows.end) {
          Body::start_row(memory, step->random, row[n], first + n);
          Body::read_element(row[n], values[n], c);
        }
      GRADUAL_UNROLL(4)
      for (int n = 0; n < each; ++n)
        if (first + n < rows.end) Body::finish_element(row[n], values[n], chain, c);
    }
    Body::template for_slots<is_batch_reduced>([&](auto s) {
      chains[(ColumnTile<Body>::template place<s()> * most + block) * columns + c] = chain.template lane<s()>();
    });
  }
}

/// Then the chains of closed blocks are added to the totals in order: a thread block for each tile of columns.
template <class Body>
GRADUAL_KERNEL_OF(TotalsTile<typename ColumnTile<Body>::Cell>::threads) void column_totals_kernel(
    LoopMemory<Body::slots> memory, const typename ColumnTile<Body>::Cell* chains, std::int64_t most, const Step* step) {
  if (step->skipped) return;
  using Tile = TotalsTile<typename ColumnTile<Body>::Cell>;
  static_assert(Tile::columns == ColumnTile<Body>::columns);
  GRADUAL_SHARED typename Tile::Shared shared;
  typename Tile::Shared& tile = shared;
  constexpr std::int64_t columns = Body::columns;
  const BlocksOfStep blocks(*step, Body::rows);
  const std::int64_t c = block_index() * Tile::columns + thread_index() % warp_size;
  const bool adds = thread_index() < warp_size && c < columns;
  Body::template for_slots<is_batch_reduced>([&](auto s) {
    using T = typename Body::template Operand<s()>;
    using W = typename Body::template Total<s()>;
    const auto* const chain = chains + ColumnTile<Body>::template place<s()> * most * columns + c;
    W* const to = static_cast<W*>(memory.written[s()]) + c;
    W total = adds && !step->first ? *to : W{};
    Tile::template add<T>(total, chain, blocks.closed, columns, c < columns, tile);
    if (!adds) return;
    *to = total;
    static_cast<T*>(memory.chain[s()])[c] = static_cast<T>(chain[(blocks.count - 1) * columns]);
  });
}

}  // namespace gradual::cuda
