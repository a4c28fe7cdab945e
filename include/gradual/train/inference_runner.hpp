#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/train/inference_layout.hpp>

namespace gradual::detail {

/// Runs the forward pass of a net whose type is erased, in memory and on a queue owned by others.
template <class Backend, class Real>
class InferenceRunner {
 public:
  using Kernels = typename Backend::Kernels;
  using Queue = typename Backend::Queue;

  /// For batches of up to `batch` samples, in `layout.table(batch, the queue's threads).transient()` bytes.
  InferenceRunner(const InferenceLayout& layout, const Kernels& kernels, std::byte* transient, std::int64_t batch, Queue& queue);

  const InferenceLayout& layout() const { return *layout_; }
  const Kernels& kernels() const { return *kernels_; }
  std::int64_t batch() const { return batch_; }

  /// Changes the transient block and the most samples computed at once; the parameters must then be read again.
  void plan(std::byte* transient, std::int64_t batch);
  /// Sets where the parameters lie from now on, and the values derived from them.
  void read(std::byte* parameters, std::byte* derived);
  /// Computes the derived values.
  void derive();
  /// Predicts samples that were validated, one pointer for each input. `out`: `InferenceLayout::width` values for each sample.
  /// `random`: the random key of the first sample, for nets that draw. Errors: DataError for another number of outputs, or for
  /// outputs that overlap an input.
  void predict(std::int64_t samples, const void* const* in, std::span<Real> out, const Randomness& random = {});

 private:
  StepArguments arguments_for(std::int64_t samples) const;
  void refuse_overlap(std::int64_t samples, const void* const* in, std::span<Real> out) const;
  void run(std::int64_t first, std::int64_t part, const void* const* in, Real* out, Randomness random);

  const InferenceLayout* layout_;
  const Kernels* kernels_;
  std::int64_t batch_;
  std::byte* transient_;
  std::vector<void*> address_;  // of values, by node
  std::byte* workspace_;
  Queue& queue_;
};

}  // namespace gradual::detail

#include <gradual/train/inference_runner.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class InferenceRunner<Cpu, float>;
}
#endif
