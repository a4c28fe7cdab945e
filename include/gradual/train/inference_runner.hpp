#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/train/inference_layout.hpp>

namespace gradual::detail {

/// Runs a net's forward pass, its type forgotten, in memory and on a queue of others.
template <class Backend, class Real>
class InferenceRunner {
 public:
  using Kernels = typename Backend::Kernels;
  using Queue = typename Backend::Queue;

  /// For batches of up to `batch` samples in as many bytes as `layout.table(batch, the queue's threads).transient()`.
  InferenceRunner(const InferenceLayout& layout, const Kernels& kernels, std::byte* transient, std::int64_t batch, Queue& queue);

  const InferenceLayout& layout() const { return *layout_; }
  const Kernels& kernels() const { return *kernels_; }
  std::int64_t batch() const { return batch_; }

  /// Changes the transient block, and the most samples computed at once; then parameters must be read again.
  void plan(std::byte* transient, std::int64_t batch);
  /// Where parameters lie from now on, and what is derived from them.
  void read(std::byte* parameters, std::byte* derived);
  /// Makes what is derived.
  void derive();
  /// Predicts samples that were checked, one pointer for each input. `out`: `InferenceLayout::width` values for each sample.
  /// `random`: what the first of them draws by, of nets that do. Errors: DataError for another number, or for outputs that lie
  /// where an input does.
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
