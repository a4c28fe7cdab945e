#pragma once
#include <gradual/autodiff/loss.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// The losses of a micro-batch, its metrics and its weights, and where the host reads them: array after array of
/// `stride`.
struct Losses {
  const float* from[max_metrics + 2];
  float* to;
  int arrays;
  std::int64_t unit, stride;  ///< values of one sample, and of most samples
};

/// Kernels write straight into pinned memory: one launch, where there would be a copy for each array.
GRADUAL_DEVICE inline void send_losses(const Losses& losses, const Step& step) {
  for (int a = 0; a < losses.arrays; ++a)
    for (std::int64_t i = global_thread(); i < losses.unit * step.batch; i += global_threads())
      losses.to[a * losses.stride + i] = losses.from[a][i];
}
template <class T>
GRADUAL_KERNEL void copy_losses(GRADUAL_IN_PLACE T losses, const Step* step) {
  send_losses(losses, *step);
}

}  // namespace gradual::cuda
