#pragma once
#include <cstdint>
#include <span>

#include <gradual/autodiff/backward.hpp>
#include <gradual/autodiff/loss.hpp>
#include <gradual/eager/tape.hpp>
#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// The losses, metrics and weights of one part, in host memory.
template <class Real>
struct EagerLosses {
  const Real* values[max_loss_arrays]{};
  const Real* weight = nullptr;
  MetricSet metrics;
  std::int64_t count = 0;
};
template <class Real>
EagerLosses<Real> losses_of(EagerTape& tape);

/// As `record_loss` and `record_gradients`, at run time.
void record_loss_of(EagerTape& tape, const Loss& loss);
void record_gradients_of(EagerTape& tape, const Loss& loss, BackwardSpace& space, Var scale, std::span<const int> without);

/// Adds a part's to those of earlier parts, or to new ones if `first`. Errors: ShapeError for another number of metrics.
template <class Real>
Averages with_losses(const Averages& before, const EagerLosses<Real>& losses, bool first);

/// Checks labels and values of the samples on the tape, which follow `before` others, or are at `rows` of their data set.
/// Errors: DataError naming the input and the sample.
void validate(EagerTape& tape, std::int64_t before, std::span<const std::int32_t> rows = {});

/// Errors: ShapeError for roots that hold a sum over the samples of a part; errors call them `what`.
void check_no_sums(const Tape& tape, const std::string& what);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/eager_losses.ipp>
#else
namespace gradual::detail {
extern template EagerLosses<float> losses_of(EagerTape&);
extern template EagerLosses<double> losses_of(EagerTape&);
extern template Averages with_losses(const Averages&, const EagerLosses<float>&, bool);
extern template Averages with_losses(const Averages&, const EagerLosses<double>&, bool);
}  // namespace gradual::detail
#endif
