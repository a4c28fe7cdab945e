#pragma once
#include <gradual/core/pooling.hpp>
#include <gradual/cuda/form.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// A pooling or one of its adjoints, over all planes of all images; `planes` are those of each sample.
template <class E, class Form = Given<Pooling>>
struct PoolingTask {
  using Element = E;
  const E* in[3];
  E* out;
  Form form;
  std::int64_t planes;
};
enum class PoolingStep : unsigned char { largest, spread, gather };

/// One thread for each element of the result.
template <PoolingStep Which, class Task>
GRADUAL_DEVICE void pool(const Task& task, const Step& step) {
  using E = typename Task::Element;
  const auto& form = task.form.get();
  const std::int64_t pixels = form.pixels(), positions = form.positions();
  const std::int64_t each = Which == PoolingStep::spread ? pixels : positions;
  for (std::int64_t i = global_thread(); i < task.planes * step.batch * each; i += global_threads()) {
    const std::int64_t plane = i / each, at = i % each;
    const E *x = task.in[1] + plane * pixels, *y = task.in[2] + plane * positions;
    if constexpr (Which == PoolingStep::largest)
      task.out[i] = static_cast<E>(form.largest(task.in[0] + plane * pixels, at));
    else if constexpr (Which == PoolingStep::spread)
      task.out[i] = static_cast<E>(form.spread(x, y, task.in[0] + plane * positions, at));
    else
      task.out[i] = static_cast<E>(form.gathered(x, y, task.in[0] + plane * pixels, at));
  }
}
template <PoolingStep Which, class Task>
GRADUAL_KERNEL void pooling_kernel(Task task, const Step* step) {
  if (!step->skipped) pool<Which>(task, *step);
}

}  // namespace gradual::cuda
