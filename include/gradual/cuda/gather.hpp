#pragma once
#include <gradual/core/block_pieces.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// Rows of a table by index, or what rows get back; `positions` are those of each sample. W: what closed blocks are added to.
template <class E, class W = E>
struct GatherTask {
  const E* from;
  const std::int32_t* index;
  W* to;
  Computed<E>* chain;  ///< the unfinished block of a window; null where there is none
  std::int64_t rows, width, positions;
};

/// One thread for each element that is read.
template <class E>
GRADUAL_DEVICE void gather(const GatherTask<E>& task, const Step& step) {
  for (std::int64_t i = global_thread(); i < step.batch * task.positions * task.width; i += global_threads())
    task.to[i] = task.from[task.index[i / task.width] * task.width + i % task.width];
}

/// One thread for each element of the table, which looks for its row among all positions: their order is the canonical one.
template <class E, class W>
GRADUAL_DEVICE void scatter_batch(const GatherTask<E, W>& task, const Step& step) {
  using T = Computed<E>;
  const std::int64_t begin = step.begin * task.positions, end = begin + step.batch * task.positions;
  for (std::int64_t i = global_thread(); i < task.rows * task.width; i += global_threads()) {
    const std::int64_t row = i / task.width, column = i % task.width;
    W total = step.first ? W{} : task.to[i];
    T chain = task.chain != nullptr ? task.chain[i] : T(0);
    for (const BlockPiece& piece : BlockPieces(begin, end, task.positions, step.last)) {
      if (piece.begins) chain = 0;
      for (std::int64_t s = piece.begin - begin; s < piece.end - begin; ++s)
        if (task.index[s] == row) chain += static_cast<T>(task.from[s * task.width + column]);
      if (piece.closes) total += chain;
    }
    task.to[i] = total;
    if (task.chain != nullptr) task.chain[i] = chain;
  }
}

template <class E>
GRADUAL_KERNEL void gather_kernel(GatherTask<E> task, const Step* step) {
  if (!step->skipped) gather(task, *step);
}
template <class E, class W>
GRADUAL_KERNEL void batch_scatter_kernel(GatherTask<E, W> task, const Step* step) {
  if (!step->skipped) scatter_batch(task, *step);
}

}  // namespace gradual::cuda
