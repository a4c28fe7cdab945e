#pragma once
#include <memory>
#include <span>

#include <gradual/files/checkpoint.hpp>
#include <gradual/train/inference_runner.hpp>

namespace gradual::detail {

/// An inference with its net's type erased: functions do as those of the same names in `Inference`, with samples that were
/// validated, one pointer for each input.
template <class Backend, class Real>
class InferenceCore {
 public:
  using Memory = typename Backend::Memory;
  using Kernels = typename Backend::Kernels;
  using Queue = typename Backend::Queue;

  InferenceCore(const InferenceLayout& layout, const Kernels& kernels, std::span<const Real> parameters, std::int64_t batch,
                int threads);
  InferenceCore(const InferenceLayout& layout, const Kernels& kernels, const Checkpoint& file, std::int64_t batch, int threads);
  InferenceCore(const InferenceCore& other);
  /// Errors: MemoryError, which leaves it unchanged.
  InferenceCore& operator=(const InferenceCore& other);

  void set_parameters(std::span<const Real> parameters);
  void set_parameters(const InferenceCore& other) { share(other.weights_); }

  void predict(std::int64_t samples, const void* const* in, std::span<Real> out, const Randomness& random) {
    runner_.predict(samples, in, out, random);
  }

  const Queue& queue() const { return queue_; }

 private:
  /// `fresh`: values derived from the weights are yet to be computed; otherwise other copies may be reading them.
  InferenceCore(const InferenceLayout& layout, const Kernels& kernels, std::shared_ptr<const Memory> weights,
                std::int64_t batch, int threads, bool fresh);

  void share(std::shared_ptr<const Memory> weights);

  static void check_count(const InferenceLayout& layout, std::span<const Real> parameters);
  /// Checks parameters on the host; those on a device were learned there.
  static void check_numbers(const InferenceLayout& layout, const Queue& queue, std::span<const Real> parameters);
  static std::shared_ptr<const Memory> copied(const InferenceLayout& layout, std::span<const Real> parameters);
  static std::shared_ptr<const Memory> read(const InferenceLayout& layout, const Checkpoint& file);

  std::shared_ptr<const Memory> weights_;
  int threads_;
  Memory transient_;
  Queue queue_;
  InferenceRunner<Backend, Real> runner_;
};

}  // namespace gradual::detail

#include <gradual/train/inference_core.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class InferenceCore<Cpu, float>;
}
#endif
