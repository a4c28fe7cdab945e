#pragma once
#include <string>

#include <gradual/core/out_of_memory.hpp>
#include <gradual/eager/window_sums.hpp>
#include <gradual/train/eager_arrays.hpp>
#include <gradual/train/eager_losses.hpp>
#include <gradual/train/gradients_so_far.hpp>
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/opaque_on_arrays.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

template <class Real, class Optimizer>
class EagerState;

/// The part of an eager session that training changes: adds recorded parts to a window, and steps where the window ends.
template <class Real, class Optimizer>
class EagerCore {
  using Rule = RuleOf<Optimizer>;
  using Arrays = EagerArrays<Rule, Real>;
  using Opaque = OpaqueOf<Optimizer, Real>;
  friend EagerState<Real, Optimizer>;
  friend NoiseMeasure;

 public:
  EagerCore(ParametersIn<Real>& parameters, const Optimizer& optimizer, const SessionOptions& options)
      : options_(checked(options, calls_of(optimizer), parameters.device())),
        progress_(options_, calls_of(optimizer), evaluates_twice<Rule>), scaler_(LossScaler::of(rule_of(optimizer))),
        arrays_(initialized(parameters, options), rule_of(optimizer), options_), sums_(parameters, arrays_.pool()),
        opaque_(optimizer), so_far_(parameters.device(), options_.noise_batch > 0 ? arrays_.elements() : 0) {
    if constexpr (Opaque::exists)
      opaque_.begin(parameters.declared(), arrays_.frozen(), arrays_.array(0), arrays_.array(2), device().shares_host_memory());
  }

  const SessionOptions& options() const { return options_; }
  WindowProgress& progress() { return progress_; }
  const WindowProgress& progress() const { return progress_; }
  const LossScaler& scaler() const { return scaler_; }
  const Arrays& arrays() const { return arrays_; }
  eager::WindowSums& sums() { return sums_; }
  Opaque& opaque() { return opaque_; }
  double squares_of_gradient() const {
    return squares_of(arrays_.parameters().declared(), arrays_.frozen(), arrays_.on_host(1), {}).all;
  }

  /// Adds a recorded part, or drops it; `last`: the window ends with it. Errors: MemoryError, with nothing of the part added;
  /// DeviceError.
  void add(EagerTape& tape, std::int64_t samples, bool last) {
    const std::int64_t position = progress_.position();
    const bool undoable = options_.non_finite == NonFinite::drop_micro_batch;
    tape.values().finish_recording(tape);
    const Averages with_part = with_losses(progress_.losses(), losses_of<Real>(tape), position == 0);
    const bool fine = !undoable || with_part.finite();
    if (fine) sums_.reserve(position, last, undoable);
    if (!fine || !add_to_sums(last, undoable)) {
      tape.forget();
      return progress_.drop(samples);
    }
    progress_.losses() = with_part;
    progress_.take(samples);
    if (progress_.ends().calls() != 0 || !progress_.full()) measure_noise();
  }

  /// Ends the window: the batch-free rest of the backward pass, then the inner optimizer, once. Returns the number of steps
  /// made. Errors: MemoryError, after which it can be called again; DataError for a total weight that a window cannot have;
  /// NonFiniteError where the options ask for it.
  int step() {
    return or_memory_error("a step", [&] { return finish_window(); });
  }

  /// Forgets the window that has begun.
  void discard() {
    sums_.forget_part();
    forget_window();
    go_back();
  }

 private:
  static SessionOptions checked(const SessionOptions& options, std::int64_t calls, const Device& device) {
    if (!device.shares_host_memory() && options.threads != 1)
      throw OptionError("Session: " + std::to_string(options.threads) + " threads on " + device.name() +
                        ", where .threads must be 1");
    return checked_eager(options, calls);
  }
  static ParametersIn<Real>& initialized(ParametersIn<Real>& parameters, const SessionOptions& options) {
    const Frozen names(options.freeze, parameters.declared());  // checked before anything is changed
    if (!parameters.initialized()) parameters.initialize(options.seed);
    parameters.require_values();
    return parameters;
  }
  const Device& device() const { return arrays_.device(); }

  /// If a device fails in between, and nothing undoes the part, the window begins anew.
  bool add_to_sums(bool last, bool undoable) {
    try {
      return sums_.add(progress_.position(), last);
    } catch (const DeviceError&) {
      if (!undoable) clear();
      throw;
    }
  }

  /// Gives up measuring the window's noise where memory does not suffice.
  void measure_noise() {
    try {
      or_memory_error("the gradient's noise",
                      [&] { progress_.noise().add(*this, progress_.position(), progress_.losses().weight()); });
    } catch (const MemoryError&) {
      progress_.noise().give_up();
    }
  }
  /// The interface for `NoiseMeasure`.
  GradientSquares square_gradients() const { return so_far_.square(arrays_); }
  GradientSquares square_so_far(std::int64_t /*position*/, double weight, bool first) {
    return so_far_.square(arrays_, sums_, weight, first);
  }

  int finish_window() {
    const EndedWindow window = progress_.ending();
    const NoiseSums noise = progress_.noise().end_window();
    try {
      progress_.check(window);
    } catch (...) {
      forget_window();
      throw;
    }
    const double weight = window.losses.weight();
    if (window.samples > 0) {
      sums_.check_recorded();
      progress_.begin_step();
      sums_.finish(arrays_.gradients(), divisor(options_, weight));
      if (window.learns) progress_.divide_gradient_by(divisor(options_, weight) * scaler_.scale());
    }
    const bool finite = !window.learns || (window.losses.finite() && arrays_.gradient_is_finite());
    const bool moves = finite && window.learns;
    if (moves) {
      progress_.noise().finish(*this, noise, weight, scaler_.scale());
      arrays_.update({progress_.steps(), divisor(options_, weight), scaler_.scale(), window.evaluation}, options_.seed);
      if constexpr (Opaque::exists)
        opaque_.step([&](auto... copied) { device().read(copied...); }, [&](auto... copied) { device().copy(copied...); });
    }
    progress_.keep(window);
    const int steps = moves ? progress_.move_by(window) : 0;
    clear();
    scaler_.end_window(finite && window.whole, moves && !window.is_first());
    if (!finite) drop_window();
    return steps;
  }

  void clear() {
    sums_.clear();
    progress_.clear();
  }
  void forget_window() {
    clear();
    scaler_.forget_window();
  }
  /// Moves back to the parameters, where the window was to be evaluated again.
  void go_back() {
    if (!progress_.again()) return;
    arrays_.update({.steps = progress_.steps(), .evaluation = Evaluation::back}, options_.seed);
    progress_.go_back();
  }

  /// Drops a window that has ended without a step. Errors: NonFiniteError where the options ask for it.
  void drop_window() {
    progress_.drop_window();
    go_back();
    if (options_.non_finite == NonFinite::raise)
      progress_.raise_non_finite(arrays_.parameters().declared(), [&](int p) { return arrays_.parameter_is_finite(p); },
                                 [&](int p) { return arrays_.gradient_is_finite(p); });
  }

  SessionOptions options_;
  WindowProgress progress_;
  LossScaler scaler_;
  Arrays arrays_;
  eager::WindowSums sums_;
  Opaque opaque_;
  GradientsSoFar<Real> so_far_;
};

}  // namespace gradual::detail
