#pragma once
#include <gradual/autodiff/loop_body.hpp>
#include <gradual/cuda/blocks_of_step.hpp>
#include <gradual/cuda/long_rows.hpp>

namespace gradual::cuda {

/// A reduction inside each of `rows` rows.
struct RowTask {
  const void* x = nullptr;
  void* out = nullptr;
  std::int64_t rows = 0, columns = 0;
};

namespace detail {
/// Joins the lanes of a warp and writes the result of row r; all threads of the warp must call it.
template <class Lane>
GRADUAL_DEVICE void finish_row(const RowTask& task, std::int64_t r, typename Lane::type mine) {
  mine = join_lanes<Lane>(mine);
  if (thread_index() % warp_size == 0) static_cast<decltype(Lane::result(mine))*>(task.out)[r] = Lane::result(mine);
}
}  // namespace detail

/// The one kernel of reductions inside a sample: a warp for each row, its lanes the canonical ones.
template <class Op, class T>
GRADUAL_KERNEL void reduce_rows_kernel(RowTask task) {
  using Lane = RowLane<Op, T>;
  const int lane = thread_index() % warp_size;
  for (std::int64_t r = global_thread() / warp_size; r < task.rows; r += global_threads() / warp_size) {
    const T* const row = static_cast<const T*>(task.x) + r * task.columns;
    auto mine = Lane::identity();
    for (std::int64_t c = lane; c < task.columns; c += canonical_lanes) mine = Lane::join(mine, Lane::of(row[c], c));
    detail::finish_row<Lane>(task, r, mine);
  }
}
/// The same for long rows, a block for each.
template <class Op, class T>
GRADUAL_KERNEL_OF(long_row_threads) void reduce_long_rows_kernel(RowTask task) {
  using Lane = RowLane<Op, T>;
  GRADUAL_SHARED T tile[long_row_tile][warp_size];
  const int lane = thread_index() % warp_size;
  for (std::int64_t r = block_index(); r < task.rows; r += block_count()) {
    const T* const row = static_cast<const T*>(task.x) + r * task.columns;
    auto mine = Lane::identity();
    for_tiles_of_row<long_row_tile>(
        task.columns, [&](int i, std::int64_t c) { tile[i][lane] = row[c]; },
        [&](int i, std::int64_t c) { mine = Lane::join(mine, Lane::of(tile[i][lane], c)); });
    if (thread_index() < warp_size) detail::finish_row<Lane>(task, r, mine);
  }
}

/// Sums over a batch in two steps. First, the chains of all blocks that the part touches are computed side by side: a thread
/// for each column of each block. `open`: what earlier parts left of the first block. The second step is
/// `contraction_totals_kernel`.
template <class T>
GRADUAL_KERNEL void batch_sum_blocks_kernel(const T* x, const T* open, T* chains, std::int64_t columns,
                                            std::int64_t positions, const Step* step) {
  const BlocksOfStep blocks(*step, positions);
  for (std::int64_t i = global_thread(); i < blocks.count * columns; i += global_threads()) {
    const std::int64_t c = i % columns;
    const BlocksOfStep::Rows rows = blocks.rows(i / columns);
    T chain = rows.goes_on ? open[c] : T(0);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) chain += x[r * columns + c];
    chains[i] = chain;
  }
}

}  // namespace gradual::cuda
