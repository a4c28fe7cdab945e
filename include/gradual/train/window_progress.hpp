#pragma once
#include <limits>
#include <span>

#include <gradual/optim/update.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/window_ends.hpp>

namespace gradual::detail {

/// A session's counters of its windows, which are part of its state.
struct WindowCounters {
  std::int64_t step = 0, position = 0, calls = 0;
  Averages losses;           ///< of the window's samples
  Averages last;             ///< of the samples of the last window
  std::int64_t again = 0;    ///< samples of the window that must be given again
  std::int64_t dropped = 0;  ///< samples of the window that were dropped
};

/// A window that ends, as seen by its step.
struct EndedWindow {
  Averages losses;
  std::int64_t samples;
  bool whole;             ///< nothing of it was dropped
  bool learns;            ///< its sums can be divided by its weight, or need no division
  Evaluation evaluation;  ///< first: the window must be given again
  bool is_first() const { return evaluation == Evaluation::first; }
};

/// A session's progress: the samples taken by the window that has begun, their losses, and the outcome of earlier windows.
/// Knows nothing of nets, so that all sessions count alike.
class WindowProgress {
 public:
  /// `options`: checked. `calls`: as for `WindowEnds`. `twice`: the optimizer evaluates each window twice.
  /// Errors: OptionError for windows counted in two ways, or whose ends must be known in advance but are not.
  WindowProgress(const SessionOptions& options, std::int64_t calls, bool twice, MetricSet metrics = {});

  const WindowEnds& ends() const { return ends_; }
  const WindowCounters& counters() const { return now_; }
  std::int64_t steps() const { return now_.step; }
  std::int64_t position() const { return now_.position; }
  bool again() const { return now_.again > 0; }
  std::int64_t dropped_windows() const { return dropped_windows_; }
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }
  /// Returns the losses of the samples taken, without those still on the device.
  Averages& losses() { return now_.losses; }
  const Averages& losses() const { return now_.losses; }
  NoiseMeasure& noise() { return noise_; }
  const NoiseMeasure& noise() const { return noise_; }

  /// Returns the position at which the window is full, unless its weights fill it before.
  std::int64_t length() const { return again() ? now_.again : ends_.samples(now_.step) - now_.dropped; }
  double full_weight() const { return ends_.weight(now_.step); }
  bool ends_at_weight() const { return full_weight() < std::numeric_limits<double>::infinity(); }
  bool full() const { return now_.position == length() || now_.losses.weight() >= full_weight(); }
  /// Whether it has ended but its step failed.
  bool waits_for_step() const { return stepping_ || (ends_.calls() == 0 && now_.position > 0 && full()); }
  /// Errors: OptionError for a window that waits for its step, whose state could not be restored.
  void check_can_be_saved() const;
  /// Begins to close its sums: it takes no more samples until `clear`.
  void begin_step() { stepping_ = true; }
  /// Returns the number of samples given to it.
  std::int64_t given() const { return now_.position + now_.dropped; }
  bool has_begun() const { return given() > 0; }

  /// Returns how many samples fit into the window; the largest number where it is counted in calls.
  std::int64_t room() const;
  /// The place in its window of the next sample, and how many fit in there.
  struct Place {
    std::int64_t position, room;
  };
  /// Returns it for when the step that is waited for, if one is, has been made.
  Place next_place() const;
  /// Errors: OptionError for samples that run on into the next window, where the optimizer evaluates each window twice.
  void check_room(std::int64_t samples) const;
  /// Returns how many of `left` samples the next part takes, at most `most`.
  std::int64_t next_part(std::int64_t left, std::int64_t most) const;
  /// Does the same for a window that will have reached `position` and have this room.
  std::int64_t next_part(std::int64_t left, std::int64_t most, std::int64_t position, std::int64_t room) const;
  /// Checks parts where unfinished blocks have no memory. Errors: OptionError where a part of the next `count` samples would
  /// end inside a block of `block`, but not with its window; `last`: the window ends with these samples.
  void check_blocks(std::int64_t count, bool last, const SessionOptions& options, std::int64_t block) const;
  bool is_filled_by(std::int64_t part) const { return now_.position + part == length(); }
  /// Returns how many samples of a part, with `unit` weights each, belong to the window. `weight` may be null: all ones.
  template <class E>
  std::int64_t until_full(const E* weight, std::int64_t unit, std::int64_t samples) const {
    const double full = full_weight();
    double sum = now_.losses.weight();
    for (std::int64_t s = 0; s < samples; ++s) {
      for (std::int64_t i = s * unit; i < (s + 1) * unit; ++i)
        sum += weight == nullptr ? 1 : static_cast<double>(weight[i]);
      if (sum >= full) return s + 1;
    }
    return samples;
  }

  void take(std::int64_t samples);
  /// Drops samples: the window goes on as if they had never belonged to it.
  void drop(std::int64_t samples);
  /// Whether the window ends with the part taken or dropped; `call`: the part ends a call.
  bool ends_here(bool call) { return ends_.calls() == 0 ? full() : call && ++now_.calls == ends_.calls(); }

  /// Forgets the window.
  void clear();

  /// Returns the window that ends, once all of its losses have arrived.
  EndedWindow ending() const;
  /// Errors: DataError for a weight that means cannot be divided by, or a window other than the one to be given again.
  void check(const EndedWindow& window) const;
  /// `call`: the caller; `help`: advice to add. Errors: OptionError between the two evaluations of a window.
  void check_in_place(const char* call, const char* help = "") const;
  /// Errors: DataError for evaluated samples of such a weight.
  void check_evaluated(const Averages& samples) const;
  /// Marks the gradient as complete, a sum to be divided by `divisor`.
  void divide_gradient_by(double divisor) { gradient_divisor_ = divisor; }
  double gradient_divisor() const { return gradient_divisor_; }
  /// Marks it as gone, since sums of another window begin in its place.
  void forget_gradient() { gradient_divisor_ = std::numeric_limits<double>::quiet_NaN(); }
  /// Makes a window the last one.
  void keep(const EndedWindow& window);
  /// Counts the optimizer's move for a window. Returns the number of steps made.
  int move_by(const EndedWindow& window);
  void count_step() { ++now_.step; }
  void drop_window() { ++dropped_windows_; }
  /// Cancels the second evaluation of a window.
  void go_back() { now_.again = 0; }
  /// Throws a NonFiniteError that names the first of these that exists: a parameter that is not finite and whose gradient is
  /// not either; the last parameter with a gradient that is not finite; the last one that is itself not finite; the loss.
  template <class P, class G>
  [[noreturn, gnu::cold]] void raise_non_finite(std::span<const ParameterInfo> parameters, P is_finite,
                                                G gradient_is_finite) const {
    const ParameterInfo *bad_gradient = nullptr, *bad_value = nullptr;  // an infinite value may be part of a mask
    for (const ParameterInfo& parameter : parameters) {
      const auto p = static_cast<int>(&parameter - parameters.data());
      const bool finite = is_finite(p);
      if (gradient_is_finite(p)) bad_value = finite ? bad_value : &parameter;
      else if (!finite) raise_non_finite("parameter", &parameter);
      else bad_gradient = &parameter;
    }
    if (bad_gradient != nullptr) raise_non_finite("the gradient of", bad_gradient);
    raise_non_finite("parameter", bad_value);
  }

  /// Continues from a state. The small batches of a window that had begun were measured elsewhere.
  void resume(const WindowCounters& counters);

 private:
  [[noreturn, gnu::cold]] void raise_non_finite(const char* what, const ParameterInfo* of) const;

  WindowEnds ends_;
  bool twice_, divides_;
  MetricSet metrics_;
  WindowCounters now_;
  NoiseMeasure noise_;
  std::int64_t dropped_windows_ = 0, dropped_micro_batches_ = 0;
  double gradient_divisor_ = std::numeric_limits<double>::quiet_NaN();  // of a window that this session has ended
  bool stepping_ = false;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/window_progress.ipp>
#endif
