#pragma once
#include <algorithm>
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

/// `FitOptions` for any data: copies of their numbers from when a fit begins, and references to their functions.
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

/// A trainer's epochs and its progress through them. Knows no net's type, so that it can be compiled into `gradual::kernels`.
template <class Real>
class FitLoop {
 public:
  /// `finds_non_finite`: the end of an error text, which says how to find the op that produced non-finite values.
  FitLoop(MetricSet metrics, Tail tail, bool keeps_average, const char* finds_non_finite);

  /// As `Trainer::fit`.
  History fit(FittedNet<Real>& net, const FitRequest& request);
  /// May be called from other threads and signal handlers.
  void stop() { std::atomic_ref(stopped_).store(true, std::memory_order_relaxed); }
  /// As `Trainer::discard_epoch`, for an epoch whose window was forgotten.
  void discard_epoch();
  int epoch() const { return state_.epoch; }

  /// Evaluates at the average of the parameters, which are then restored, even after an error.
  static Averages evaluate_at_average(FittedNet<Real>& net);

  void store(Checkpoint& file) const { state_.store(file); }
  /// Errors: OptionError inside a fit.
  void require_no_fit(const char* what) const;
  /// Errors: OptionError within an epoch, where training cannot continue from another state.
  void require_no_epoch() const;
  /// Reads what `store` wrote for a net with these metrics (null: any) and this many parameter values. Errors: FileError;
  /// DataError within a fit to another number of samples, or with other weights of its draws, than the state's epoch has.
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
  /// The number of metrics is known from the first window on.
  void add_to_epoch(const Averages& window);
  EpochRecord record_epoch(FittedNet<Real>& net, const Stopwatch& watch, const FitRequest& request) const;
  /// Returns the value by which patience judges the epoch; 0 without patience.
  double end_epoch(const FittedNet<Real>& net, EpochRecord& record, const FitRequest& request);
  /// `inside`: an epoch has begun.
  void end_patience(FittedNet<Real>& net, ProgressLine& line, const FitRequest& request, bool inside = false);
  void begin_next_epoch();
  /// Moves back to where a window began, or to where the epoch began in it.
  void move_back(std::int64_t samples) { state_.done = std::max<std::int64_t>(0, state_.done - samples); }
  void forget_best();
  /// Returns a NonFiniteError where all windows of an epoch were dropped and no smaller loss scale will help the next, a
  /// DataError where all its weights, or those that patience judges by, are 0, an OptionError where it had no window, else
  /// null.
  std::exception_ptr no_progress(const SessionStanding& before, const FittedNet<Real>& net,
                                 const EpochRecord& record, const FitRequest& request) const;

  MetricSet metrics_;
  Tail tail_;
  bool keeps_average_;
  const char* finds_non_finite_;
  FitState<Real> state_;
  const FittedNet<Real>* running_ = nullptr;  // inside a fit
  const WeightedDraw* draw_ = nullptr;         // inside a fit that draws
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
