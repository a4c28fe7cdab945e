#pragma once
#include <gradual/core/numerics_check.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/inference_core.hpp>
#include <gradual/train/one_net.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

/// The key of the random numbers of predictions, beside each sample's place.
struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t round = 0;  ///< each has its own masks: those of training in that epoch, or step where epochs are unknown
  std::int64_t first = 0;   ///< index of a call's first sample, for samples that are predicted part by part
};

template <class Net, class In = typename detail::InputsOf<typename Net::Prediction>::type>
class Inference;

/// The forward pass of a trained net, with its own, smaller plan. T: the types that the model's `predict` takes, one for each
/// of its arguments, from the net's first inputs. Copies share weights, but each has its own workspace, so give every thread a
/// copy. Assignment copies all but the threads; it allocates nothing where both were planned for the same number of samples.
template <class Net, class... T>
class Inference<Net, Inputs<T...>> {
  using P = typename Net::Prediction;
  using Real = typename Net::Real;

 public:
  /// Copies the parameters, in the order of their declaration; plans for batches of up to `batch` samples, each computed by
  /// `threads` threads, the caller's included: the bits do not depend on them. Errors: DataError for another number of
  /// parameters, or one that is NaN, by name; OptionError for an impossible number of threads; MemoryError; NumericsError.
  explicit Inference(std::span<const Real> parameters, std::int64_t batch = 1, int threads = 1)
      : core_(checked_layout(), Net::Backend::template kernels_of<P>, parameters, batch, threads) {}
  /// Takes the parameters from a file's tensors by name. Errors: FileError naming what is missing, has another shape or is NaN.
  explicit Inference(const Checkpoint& file, std::int64_t batch = 1, int threads = 1)
      : core_(checked_layout(), Net::Backend::template kernels_of<P>, file, batch, threads) {}
  /// For a net without parameters, such as one that only differentiates. Errors: as above.
  explicit Inference(std::int64_t batch, int threads = 1)
    requires(Net::parameter_count == 0)
      : Inference(std::span<const Real>(), batch, threads) {}
  Inference()
    requires(Net::parameter_count == 0)
      : Inference(std::span<const Real>()) {}

  /// Errors: NumericsError, since the copy's threads get the modes of the thread that makes it; MemoryError.
  Inference(const Inference& other) : core_((check_numerics(), other.core_)) {}
  Inference& operator=(const Inference&) = default;

  /// Replaces the parameters, say by those of a session that has learned meanwhile. Copies keep the old ones; without copies
  /// nothing is allocated. Errors: DataError as for the constructor; MemoryError. The old parameters are then kept.
  void set_parameters(std::span<const Real> parameters) { core_.set_parameters(parameters); }

  /// From now on shares the parameters of another one, as a copy of it would. Allocates nothing. Neither may run meanwhile.
  void set_parameters(const Inference& other) { core_.set_parameters(other.core_); }

  /// in: any number of samples, even none; out: one prediction of `output_width` values for each. On a GPU both may lie in its
  /// own memory. Errors: DataError for spans that do not fit each other, indices outside a table, values that are not finite,
  /// or outputs that overlap an input.
  void operator()(std::span<const std::remove_all_extents_t<T>>... in, std::span<Real> out)
    requires(!Net::draws)
  {
    predict({}, in..., out);
  }
  /// Does the same for a net that draws (`Drawing`): the result depends on the `Draw`, not on the batch.
  void operator()(const Draw& draw, std::span<const std::remove_all_extents_t<T>>... in, std::span<Real> out)
    requires(Net::draws)
  {
    predict({.on = true, .seed = draw.seed, .round = draw.round, .begin = draw.first, .step = draw.round}, in..., out);
  }
  static constexpr std::int64_t output_width() { return inference_layout<Net>.width; }

 private:
  static const InferenceLayout& checked_layout() {
    Net::Backend::check_numerics();
    detail::check_one_net<P>();
    return inference_layout<Net>;
  }

  void predict(const Randomness& random, std::span<const std::remove_all_extents_t<T>>... in, std::span<Real> out) {
    if ((in.empty() && ...) && out.empty()) return;
    const std::int64_t samples = validate_for<typename Net::Backend, P>(core_.queue(), Inputs<T...>{}, in...);
    const void* const data[] = {in.data()...};
    core_.predict(samples, data, out, random);
  }

  detail::InferenceCore<typename Net::Backend, Real> core_;
};

}  // namespace gradual
