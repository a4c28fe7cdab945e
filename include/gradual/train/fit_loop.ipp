#pragma once
#include <gradual/train/fit_loop.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include <gradual/core/number_text.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/core/set_while.hpp>
#include <gradual/core/shuffle.hpp>
#include <gradual/train/place_of_nan.hpp>

namespace gradual::detail {

template <class Real>
FitLoop<Real>::FitLoop(MetricSet metrics, Tail tail, bool keeps_average, const char* finds_non_finite)
    : metrics_(metrics), tail_(tail), keeps_average_(keeps_average), finds_non_finite_(finds_non_finite) {
  state_.sums = Averages(metrics);
}

template <class Real>
History FitLoop<Real>::fit(FittedNet<Real>& net, const FitRequest& request) {
  require_no_fit("fit");
  const SetWhile<const FittedNet<Real>*> running(running_, &net);  // clang 14 does not deduce the type
  return or_memory_error("fit", [&] {
    check(request);
    net.check_data();
    std::optional<WeightedDraw> draw;
    if (!request.draw.empty()) {
      if (std::ssize(request.draw) != net.samples())
        throw DataError("fit: .draw has " + std::to_string(request.draw.size()) + " weights for " +
                        std::to_string(net.samples()) + " samples");
      draw.emplace(request.draw);
    }
    const SetWhile<const WeightedDraw*> drawing(draw_, draw ? &*draw : nullptr);
    check(net);
    try {
      return run_epochs(net, request);
    } catch (...) {
      if (!inside_epoch_ && !state_.begun) forget_best();  // no interrupted epoch remains to be continued
      inside_epoch_ = false;
      throw;
    }
  });
}

template <class Real>
void FitLoop<Real>::discard_epoch() {
  if (state_.begun) begin_next_epoch();
  forget_best();
}

template <class Real>
Averages FitLoop<Real>::evaluate_at_average(FittedNet<Real>& net) {
  const std::vector<Real> parameters = net.values();
  net.set_parameters(net.averaged());
  try {
    const Averages result = net.evaluate();
    net.set_parameters(parameters);
    return result;
  } catch (...) {
    net.set_parameters(parameters);
    throw;
  }
}

template <class Real>
void FitLoop<Real>::require_no_fit(const char* what) const {
  if (running_ != nullptr) throw OptionError(std::string(what) + ": this trainer is inside a fit");
}

template <class Real>
void FitLoop<Real>::require_no_epoch() const {
  if (inside_epoch_) throw OptionError("load_state: an epoch of this trainer has begun: load states in on_epoch");
}

template <class Real>
FitState<Real> FitLoop<Real>::read(const Checkpoint& file, const MetricSet* metrics, std::int64_t elements) const {
  FitState<Real> state = in_file(file, [&] { return FitState<Real>::from(file, metrics, elements); });
  if (running_ != nullptr) check_begun(state);
  return state;
}

template <class Real>
void FitLoop<Real>::check(const FitRequest& request) const {
  if (request.epochs < 0) throw OptionError("fit: " + std::to_string(request.epochs) + " epochs");
  if (request.patience < 0) throw OptionError("fit: a patience of " + std::to_string(request.patience) + " epochs");
  if (!(request.min_delta >= 0)) throw OptionError("fit: a min_delta of " + brief_text(request.min_delta));
  if (request.patience == 0 && (request.monitor || request.min_delta > 0))
    throw OptionError("fit: a monitor or a min_delta does nothing without a patience");
  if (request.patience > 0 && !request.validates && !request.monitor)
    throw OptionError("fit: a patience of " + std::to_string(request.patience) +
                      " epochs needs data to validate on, or a monitor");
  if (request.validate_averaged && !(keeps_average_ && request.validates))
    throw OptionError("fit: .validate_averaged needs an Ema in the optimizer, and data to validate on");
}

template <class Real>
void FitLoop<Real>::check(const FittedNet<Real>& net) const {
  const std::int64_t samples = net.samples();
  if (samples > std::numeric_limits<std::int32_t>::max())
    throw DataError("fit: a data set of " + std::to_string(samples) +
                    " samples is too large to shuffle: train on subsets of it");
  check_begun(state_);
  if (tail_ == Tail::drop && samples < net.window() && !windows_vary(net.options()))
    throw OptionError("fit: Tail::drop would drop all " + std::to_string(samples) + " samples: a window has " +
                      std::to_string(net.window()));
}

template <class Real>
void FitLoop<Real>::check_begun(const FitState<Real>& state) const {
  if (!state.begun) return;
  if (const std::int64_t samples = running_->samples(); state.samples != samples)
    throw DataError("fit: epoch " + std::to_string(state.epoch + 1) + " has begun on " + std::to_string(state.samples) +
                    " samples, but now there are " + std::to_string(samples) +
                    ": discard_epoch() skips the rest of it");
  if (state.drawn_by != drawn_by())
    throw DataError("fit: epoch " + std::to_string(state.epoch + 1) + " has begun with " +
                    (state.drawn_by == 0 ? "no .draw" : "another .draw") + ": discard_epoch() skips the rest of it");
}

/// Calls leave() before it throws. Errors: NonFiniteError where a parameter is not a number.
template <class Real, class F>
void check_parameters(const FittedNet<Real>& net, const char* when, int epoch, F leave) {
  const std::vector<Real> values = net.values();
  const std::string place = place_of_nan(net.declared(), std::span<const Real>(values));
  if (place.empty()) return;
  leave();
  throw NonFiniteError("fit: " + place + " is not a number " + when + std::to_string(epoch + 1));
}

template <class Real>
History FitLoop<Real>::run_epochs(FittedNet<Real>& net, const FitRequest& request) {
  ProgressLine line(request.progress, state_.epoch, request.epochs);
  History history;
  std::vector<std::int32_t> order(static_cast<std::size_t>(net.samples()));
  std::atomic_ref(stopped_).store(false, std::memory_order_relaxed);
  for (int i = 0; i < request.epochs && !stopped() && (request.patience <= 0 || state_.without_progress < request.patience);
       ++i) {
    const std::int64_t already = state_.done;
    const SessionStanding before = net.standing();
    const Stopwatch watch;
    run_epoch(net, order, line, request);
    if (state_.done < state_.samples) return history;  // stopped within the epoch
    EpochRecord& record = history.emplace_back(record_epoch(net, watch, request));
    const double seen = end_epoch(net, record, request);
    const double speed = static_cast<double>(net.samples() - already) / record.seconds;
    line.show(i + 1, record, net.metric_names(), speed);
    check_parameters(net, "after epoch ", record.epoch, [&] { end_patience(net, line, request); });
    std::exception_ptr hopeless = already == 0 ? no_progress(before, net, record, request) : nullptr;
    if (hopeless == nullptr && request.patience > 0 && state_.without_progress >= request.patience &&
        (seen != seen || state_.best.empty()))
      hopeless = std::make_exception_ptr(
          NonFiniteError("fit: patience ends after epoch " + std::to_string(record.epoch + 1) + ": " +
                         (request.monitor ? "the monitor" : "the validation loss") +
                         (seen != seen ? " is not a number" : " is infinite, and was never finite before")));
    if (request.on_epoch) request.on_epoch(record);
    if (hopeless == nullptr || state_.epoch != record.epoch + 1) continue;  // or another epoch's state was loaded
    end_patience(net, line, request);
    std::rethrow_exception(hopeless);
  }
  end_patience(net, line, request);
  return history;
}

template <class Real>
void FitLoop<Real>::run_epoch(FittedNet<Real>& net, std::span<std::int32_t> order, ProgressLine& line,
                              const FitRequest& request) {
  inside_epoch_ = true;
  const auto epoch = static_cast<std::uint64_t>(state_.epoch);
  state_.samples = net.samples();
  state_.drawn_by = drawn_by();
  if (draw_ != nullptr) (*draw_)(order, net.options().seed, epoch);
  else shuffle(order, net.options().seed, epoch);
  for (SessionStanding before = net.standing(); (state_.done < state_.samples || before.waits_for_step) && !stopped();
       before = net.standing()) {
    const std::span<const std::int32_t> rest = order.subspan(static_cast<std::size_t>(state_.done));
    const std::int64_t most = std::min(net.options().micro_batch, net.window() - before.position), already = state_.done;
    const auto rows = rest.first(std::min(static_cast<std::size_t>(most), rest.size()));
    const bool last = rows.size() == rest.size();
    try {
      net.learn(rows, epoch, last && tail_ == Tail::step, state_.done);
    } catch (...) {  // a forgotten window is learned again from its beginning, a dropped one is not
      const SessionStanding now = net.standing();
      if (now.given == 0 && now.dropped_windows == before.dropped_windows) state_.done = already, move_back(before.given);
      state_.begun = state_.done > 0 || now.again;
      throw;
    }
    state_.begun = true;
    const std::int64_t taken = state_.done - already;
    const SessionStanding now = net.standing();
    if (now.again && now.position == 0) move_back(net.window());
    if (state_.done == state_.samples && tail_ == Tail::drop) net.discard();
    if (now.dropped_windows > before.dropped_windows)  // a NaN parameter would have every later window dropped too
      check_parameters(net, "within epoch ", state_.epoch, [&] { end_patience(net, line, request, true); });
    const bool stepped = now.steps > before.steps;
    if (stepped) add_to_epoch(net.last_window());
    if (request.on_micro_batch) request.on_micro_batch(taken);
    if (stepped && request.on_step) request.on_step(net.standing().steps, net.last_window());
  }
  inside_epoch_ = false;
}

template <class Real>
void FitLoop<Real>::add_to_epoch(const Averages& window) {
  if (state_.sums.count() == 0) state_.sums = window;
  else state_.sums.add(window);
}

template <class Real>
EpochRecord FitLoop<Real>::record_epoch(FittedNet<Real>& net, const Stopwatch& watch, const FitRequest& request) const {
  const SessionStanding now = net.standing();
  EpochRecord record;
  record.epoch = state_.epoch;
  record.training = state_.sums;
  record.seconds = watch.seconds();
  record.steps = now.steps;
  record.dropped_windows = now.dropped_windows;
  record.dropped_micro_batches = now.dropped_micro_batches;
  if (request.validates) record.validation = request.validate_averaged ? evaluate_at_average(net) : net.evaluate();
  return record;
}

template <class Real>
double FitLoop<Real>::end_epoch(const FittedNet<Real>& net, EpochRecord& record, const FitRequest& request) {
  double seen = 0;
  if (request.patience > 0) {
    seen = request.monitor ? request.monitor(record) : record.validation.loss();
    record.improved = seen < state_.best_loss - request.min_delta;
    if (record.improved) {
      state_.best = request.validate_averaged ? net.averaged() : net.values();
      state_.best_loss = seen;
    }
    state_.without_progress = record.improved ? 0 : state_.without_progress + 1;
  }
  begin_next_epoch();
  return seen;
}

template <class Real>
void FitLoop<Real>::begin_next_epoch() {
  ++state_.epoch;
  state_.done = 0;
  state_.begun = false;
  state_.sums = Averages(metrics_);
}

template <class Real>
void FitLoop<Real>::end_patience(FittedNet<Real>& net, ProgressLine& line, const FitRequest& request, bool inside) {
  const bool later = state_.without_progress > 0 || inside, others = later || request.validate_averaged;
  if (request.patience > 0 && others && !state_.best.empty()) {
    move_back(net.standing().given);
    net.discard();  // the rest that Tail::carry left has gradients at the old parameters
    net.set_parameters(state_.best);
    if (later) line.restored(state_.epoch - state_.without_progress);
  }
  forget_best();
}

template <class Real>
void FitLoop<Real>::forget_best() {
  state_.best.clear();
  state_.best_loss = std::numeric_limits<double>::infinity();
  state_.without_progress = 0;
}

template <class Real>
std::exception_ptr FitLoop<Real>::no_progress(const SessionStanding& before, const FittedNet<Real>& net,
                                              const EpochRecord& record, const FitRequest& request) const {
  const SessionStanding now = net.standing();
  const Averages& last = net.last_window();
  const auto no_step = [&] { return "fit: no step in epoch " + std::to_string(record.epoch + 1) + ": "; };
  const std::int64_t dropped = now.dropped_windows - before.dropped_windows;
  if (request.validates && request.patience > 0 && !request.monitor && record.validation.weight() == 0)
    return std::make_exception_ptr(DataError("fit: validation data: the weights of its samples are 0"));
  if (now.steps == before.steps && dropped == 0 && last.count() > 0 && last.weight() == 0)
    return std::make_exception_ptr(DataError(no_step() + "the weights of its samples are 0"));
  if (tail_ == Tail::drop && now.steps == before.steps && dropped == 0 &&
      now.dropped_micro_batches == before.dropped_micro_batches)
    return std::make_exception_ptr(OptionError(no_step() + "Tail::drop drops all " + std::to_string(net.samples()) +
                                               " samples, which fill no window"));
  if (now.steps > before.steps || dropped == 0 || now.loss_scale != before.loss_scale) return nullptr;
  return std::make_exception_ptr(NonFiniteError(no_step() + "the loss or its gradient was not finite in all " +
                                                std::to_string(dropped) + " windows; the last loss was " +
                                                brief_text(last.loss()) +
                                                (now.steps > 0 ? ", as with a learning rate that is too high" : "") +
                                                finds_non_finite_));
}

}  // namespace gradual::detail
