#pragma once
#include <gradual/train/compiled.hpp>
#include <gradual/train/inference_core.hpp>
#include <gradual/train/one_net.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

/// What random numbers of predictions are keyed by, beside the place of each sample.
struct Draw {
  std::uint64_t seed = 0;
  std::uint64_t round = 0;  ///< each has masks of its own: those of training in that epoch, or step where epochs are not known
  std::int64_t first = 0;   ///< which sample the first of a call is, of those that are predicted part by part
};

template <class Net, class In = typename detail::InputsOf<typename Net::Prediction>::type>
class Inference;

/// The forward pass of a trained net, with its own, smaller plan. T: what the model's `predict` takes, of the net's first
/// inputs as many as it has arguments. Weights are shared between copies; each copy has its own workspace, so give every
/// thread a copy. Assignment makes a copy of it, with the threads that it had, and allocates nothing where both were planned for
/// as many samples.
template <class Net, class... T>
class Inference<Net, Inputs<T...>> {
  using P = typename Net::Prediction;
  using Real = typename Net::Real;

 public:
  /// Copies the parameters, in the order of their declaration; plans for batches of up to `batch`, each computed by so many
  /// threads, the caller's and others of its own: the bits do not depend on them. Errors: DataError for another number of
  /// parameters, or one that is not a number, by name; OptionError for threads that cannot be; MemoryError; NumericsError.
  explicit Inference(std::span<const Real> parameters, std::int64_t batch = 1, int threads = 1)
      : core_(checked_layout(), Net::Backend::template kernels_of<P>, parameters, batch, threads) {}
  /// Takes the parameters from a file's tensors by name. Errors: FileError naming what is missing, has another shape or
  /// is not a number.
  explicit Inference(const Checkpoint& file, std::int64_t batch = 1, int threads = 1)
      : core_(checked_layout(), Net::Backend::template kernels_of<P>, file, batch, threads) {}

  /// Takes other parameters, such as those of a session that has learned meanwhile. Copies keep theirs; nothing is allocated
  /// where there are none. Errors: DataError as of the constructor; MemoryError. It keeps those that it has then.
  void set_parameters(std::span<const Real> parameters) { core_.set_parameters(parameters); }

  /// Shares the parameters of another one from now on, as a copy of it does. Nothing is allocated. Neither may run meanwhile.
  void set_parameters(const Inference& other) { core_.set_parameters(other.core_); }

  /// in: any number of samples, none too; out: one prediction of `output_width` values for each. On a GPU both may lie in its
  /// own memory. Errors: DataError for spans that do not fit each other, indices outside a table, values that are not finite, or
  /// outputs that lie where an input does.
  void operator()(std::span<const std::remove_all_extents_t<T>>... in, std::span<Real> out)
    requires(!Net::draws)
  {
    predict({}, in..., out);
  }
  /// The same of a net that draws (`Drawing`): of one `Draw` always the same, whatever the batch.
  void operator()(const Draw& draw, std::span<const std::remove_all_extents_t<T>>... in, std::span<Real> out)
    requires(Net::draws)
  {
    predict({true, draw.seed, draw.round, nullptr, draw.first, draw.round}, in..., out);
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
