#pragma once
#include <gradual/autodiff/op.hpp>
#include <gradual/core/block_pieces.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// Rows of a table by index, or rows scattered back into one; `positions`: of each sample. W: what closed blocks are added to.
template <class E, class W = E>
struct GatherTask {
  const E* from;
  const std::int32_t* index;
  W* to;
  Computed<E>* chain;  ///< the unfinished block of a window; null where there is none
  std::int64_t rows, width, positions;
  std::int64_t tables = 1;  ///< of each sample, where samples have their own; `positions` are then those of each table
};

/// One thread for each element that is read.
template <class E>
GRADUAL_DEVICE void gather(const GatherTask<E>& task, const Step& step) {
  for (std::int64_t i = global_thread(); i < step.batch * task.positions * task.width; i += global_threads())
    task.to[i] = task.from[task.index[i / task.width] * task.width + i % task.width];
}

/// Returns the number of threads that sum rows: a warp for each row of the table and 32 of its columns.
GRADUAL_HD constexpr std::int64_t scatter_threads(std::int64_t rows, std::int64_t width) {
  return rows * ((width + warp_size - 1) / warp_size) * warp_size;
}

/// Adds to a chain what positions [begin, end) contribute to one column of a row, in order. A warp searches 32 positions at a
/// time for its row; each of its lanes has a column of its own.
template <class E, class W>
GRADUAL_DEVICE Computed<E> add_named(const GatherTask<E, W>& task, std::int64_t row, std::int64_t column, std::int64_t begin,
                                     std::int64_t end, Computed<E> chain) {
  const int lane = thread_index() % warp_size;
  for (std::int64_t s = begin; s < end; s += warp_size)
    for (unsigned found = ballot(s + lane < end && task.index[s + lane] == row); found != 0; found &= found - 1)
      if (column < task.width) chain += static_cast<Computed<E>>(task.from[(s + lowest_bit(found)) * task.width + column]);
  return chain;
}

/// Sums rows over a window.
template <class E, class W>
GRADUAL_DEVICE void scatter_batch(const GatherTask<E, W>& task, const Step& step) {
  using T = Computed<E>;
  const std::int64_t begin = step.begin * task.positions, end = begin + step.batch * task.positions;
  const std::int64_t across = scatter_threads(1, task.width);
  for (std::int64_t t = global_thread(); t < scatter_threads(task.rows, task.width); t += global_threads()) {
    const std::int64_t row = t / across, column = t % across, i = row * task.width + column;
    const bool has = column < task.width;
    W total = has && !step.first ? task.to[i] : W{};
    T chain = has && task.chain != nullptr ? task.chain[i] : T(0);
    for (const BlockPiece& piece : BlockPieces(begin, end, task.positions, step.last)) {
      if (piece.begins) chain = 0;
      chain = add_named(task, row, column, piece.begin - begin, piece.end - begin, chain);
      if (piece.closes) total += chain;
    }
    if (has) task.to[i] = total;
    if (has && task.chain != nullptr) task.chain[i] = chain;
  }
}

/// Gathers rows of each sample's own table, one thread for each element; zeros where an index names no row.
template <class E>
GRADUAL_DEVICE void gather_own(const GatherTask<E>& task, const Step& step) {
  for (std::int64_t i = global_thread(); i < step.batch * task.tables * task.positions * task.width; i += global_threads()) {
    const std::int64_t position = i / task.width, row = task.index[position];
    const bool has = row >= 0 && row < task.rows;
    const E* const table = task.from + position / task.positions * task.rows * task.width;
    task.to[i] = has ? table[row * task.width + i % task.width] : static_cast<E>(Computed<E>(0));
  }
}
/// Sums rows into such tables.
template <class E>
GRADUAL_DEVICE void scatter_own(const GatherTask<E>& task, const Step& step) {
  using T = Computed<E>;
  const std::int64_t across = scatter_threads(1, task.width), rows = step.batch * task.tables * task.rows;
  for (std::int64_t t = global_thread(); t < rows * across; t += global_threads()) {
    const std::int64_t row = t / across, column = t % across, end = (row / task.rows + 1) * task.positions;
    T total = 0;
    for (std::int64_t begin = end - task.positions; begin < end; begin += canonical_block)
      total += add_named(task, row % task.rows, column, begin, end - begin < canonical_block ? end : begin + canonical_block, T(0));
    if (column < task.width) task.to[row * task.width + column] = static_cast<E>(total);
  }
}

/// Does what ops of this kind do.
template <Kind Which, class E, class W>
GRADUAL_DEVICE void move_rows(const GatherTask<E, W>& task, const Step& step) {
  if constexpr (Which == Kind::gather) gather(task, step);
  else if constexpr (Which == Kind::batch_scatter) scatter_batch(task, step);
  else if constexpr (Which == Kind::gather_own) gather_own(task, step);
  else scatter_own(task, step);
}
template <Kind Which, class Task>
GRADUAL_KERNEL void rows_kernel(Task task, const Step* step) {
  if (!step->skipped) move_rows<Which>(task, *step);
}

}  // namespace gradual::cuda
