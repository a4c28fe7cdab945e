#pragma once
#include <gradual/core/pooling.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// A pooling or one of its adjoints, over all planes of all images; `planes` are those of each sample.
template <class E>
struct PoolingTask {
  const E* in[3];
  E* out;
  Pooling form;
  std::int64_t planes;
};
enum class PoolingStep : unsigned char { largest, spread, gather };

/// One thread for each element of the result.
template <PoolingStep Which, class E>
GRADUAL_DEVICE void pool(const PoolingTask<E>& task, const Step& step) {
  const std::int64_t pixels = task.form.pixels(), positions = task.form.positions();
  const std::int64_t each = Which == PoolingStep::spread ? pixels : positions;
  for (std::int64_t i = global_thread(); i < task.planes * step.batch * each; i += global_threads()) {
    const std::int64_t plane = i / each, at = i % each;
    const E *x = task.in[1] + plane * pixels, *y = task.in[2] + plane * positions;
    if constexpr (Which == PoolingStep::largest)
      task.out[i] = static_cast<E>(task.form.largest(task.in[0] + plane * pixels, at));
    else if constexpr (Which == PoolingStep::spread)
      task.out[i] = static_cast<E>(task.form.spread(x, y, task.in[0] + plane * positions, at));
    else
      task.out[i] = static_cast<E>(task.form.gathered(x, y, task.in[0] + plane * pixels, at));
  }
}
template <PoolingStep Which, class E>
GRADUAL_KERNEL void pooling_kernel(PoolingTask<E> task, const Step* step) {
  if (!step->skipped) pool<Which>(task, *step);
}

}  // namespace gradual::cuda
