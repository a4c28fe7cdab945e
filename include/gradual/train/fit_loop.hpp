#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <utility>

#include <gradual/core/weighted_draw.hpp>
#include <gradual/train/fit_options.hpp>
#include <gradual/train/fit_state.hpp>
#include <gradual/train/fitted_net.hpp>
#include <gradual/train/progress.hpp>

namespace gradual::detail {

/// `FitOptions` of any data: their numbers as they are when a fit begins, and references to their functions.
struct FitRequest {
  int epochs;
  const std::vector<double>& draw;
  bool validates, validate_averaged;
  int patience;
  double min_delta;
  const std::function<double(const EpochRecord&)>& monitor;
  Progress progress;
  const std::function<void(const EpochRecord&)>& on_epoch;
  const std::function<void(std::int64_t, const Averages&)>& on_step;
  const std::function<void(std::int64_t)>& on_micro_batch;

  template <class Data>
  explicit FitRequest(const FitOptions<Data>& o)
      : epochs(o.epochs), draw(o.draw), validates(o.validate.has_value()), validate_averaged(o.validate_averaged),
        patience(o.patience), min_delta(o.min_delta), monitor(o.monitor), progress(o.progress), on_epoch(o.on_epoch),
        on_step(o.on_step), on_micro_batch(o.on_micro_batch) {}
};

/// A trainer's epochs, and how far it has come in them. It knows no net's type, so that `gradual::kernels` can have it.
template <class Real>
class FitLoop {
 public:
  /// `finds_non_finite`: what a text says of how the op is found that made numbers that are not finite.
  FitLoop(MetricSet metrics, Tail tail, bool keeps_average, const char* finds_non_finite);

  /// As `Trainer::fit`.
  History fit(FittedNet<Real>& net, const FitRequest& request);
  /// Also by other threads and handlers of signals.
  void stop() { std::atomic_ref(stopped_).store(true, std::memory_order_relaxed); }
  /// As `Trainer::discard_epoch`, of an epoch whose window is forgotten.
  void discard_epoch();
  int epoch() const { return state_.epoch; }

  /// At the average of the parameters, which are put back however it ends.
  static Averages evaluate_at_average(FittedNet<Real>& net);

  void store(Checkpoint& file) const { state_.store(file); }
  /// Errors: OptionError inside a fit.
  void require_no_fit(const char* what) const;
  /// Errors: OptionError within an epoch, where no state can be gone on from.
  void require_no_epoch() const;
  /// What `store` wrote of a net with these metrics, null: of any, and so many parameter values. Errors: FileError; DataError
  /// within a fit to another number of samples than the state's epoch has, or that draws them by other weights.
  FitState<Real> read(const Checkpoint& file, const MetricSet* metrics, std::int64_t elements) const;
  void go_on_from(FitState<Real> state) { state_ = std::move(state); }

 private:
  bool stopped() { return std::atomic_ref(stopped_).load(std::memory_order_relaxed); }
  void check(const FitRequest& request) const;
  void check(const FittedNet<Real>& net) const;
  void check_begun(const FitState<Real>& state) const;
  std::uint64_t drawn_by() const { return draw_ == nullptr ? 0 : draw_->hash(); }
  History run_epochs(FittedNet<Real>& net, const FitRequest& request);
  void run_epoch(FittedNet<Real>& net, std::span<std::int32_t> order, ProgressLine& line, const FitRequest& request);
  /// How many metrics there are is known with the first window.
  void add_to_epoch(const Averages& window);
  EpochRecord record_epoch(FittedNet<Real>& net, const Stopwatch& watch, const FitRequest& request) const;
  /// Returns what patience judges the epoch by; 0 without.
  double end_epoch(const FittedNet<Real>& net, EpochRecord& record, const FitRequest& request);
  /// `inside`: an epoch has begun.
  void end_patience(FittedNet<Real>& net, ProgressLine& line, const FitRequest& request, bool inside = false);
  void begin_next_epoch();
  void forget_best();
  /// A NonFiniteError where every window of an epoch was dropped and no smaller loss scale will help the next, a DataError
  /// where all had a weight of 0, or what patience judges by has, an OptionError where there was no window; null for others.
  std::exception_ptr no_progress(const SessionStanding& before, const FittedNet<Real>& net,
                                 const EpochRecord& record, const FitRequest& request) const;

  MetricSet metrics_;
  Tail tail_;
  bool keeps_average_;
  const char* finds_non_finite_;
  FitState<Real> state_;
  const FittedNet<Real>* running_ = nullptr;  // inside a fit
  const WeightedDraw* draw_ = nullptr;         // inside one that draws
  bool inside_epoch_ = false, stopped_ = false;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/fit_loop.ipp>
#else
namespace gradual::detail {
extern template class FitLoop<float>;
extern template class FitLoop<double>;
}  // namespace gradual::detail
#endif
