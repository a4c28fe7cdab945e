#pragma once
#include <gradual/autodiff/loss.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// The losses of a micro-batch, its metrics and its weights, and where the host reads them: arrays `stride` values apart.
struct Losses {
  const void* from[max_loss_arrays];
  std::byte* to;
  int arrays;
  std::int64_t unit, stride;  ///< values of one sample, and of the most samples of a micro-batch
  bool in_double = false;     ///< they are doubles, else floats
  bool* lost = nullptr;       ///< set where a loss is not finite; may be null
};

/// Writes losses straight into pinned memory: one launch instead of a copy for each array.
template <class E>
GRADUAL_DEVICE void send_losses_in(const Losses& losses, const Step& step) {
  for (int a = 0; a < losses.arrays; ++a)
    for (std::int64_t i = global_thread(); i < losses.unit * step.batch; i += global_threads()) {
      const E value = static_cast<const E*>(losses.from[a])[i];
      reinterpret_cast<E*>(losses.to)[a * losses.stride + i] = value;
      if (a == 0 && losses.lost != nullptr && !math::is_finite(value)) *losses.lost = true;
    }
}
GRADUAL_DEVICE inline void send_losses(const Losses& losses, const Step& step) {
  if (losses.in_double) send_losses_in<double>(losses, step);
  else send_losses_in<float>(losses, step);
}
template <class T>
GRADUAL_KERNEL void copy_losses(GRADUAL_IN_PLACE T losses, const Step* step) {
  send_losses(losses, *step);
}

}  // namespace gradual::cuda
