#pragma once
#include <limits>
#include <span>
#include <string>

#include <gradual/optim/update.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/second_evaluation.hpp>
#include <gradual/train/window_ends.hpp>

namespace gradual::detail {

/// What a session counts of its windows, which a state holds.
struct WindowCounters {
  std::int64_t step = 0, position = 0, calls = 0;
  Averages losses;           ///< of the samples of the window
  Averages last;             ///< of those of the window before
  std::int64_t again = 0;    ///< samples of the window that must be given again
  std::int64_t dropped = 0;  ///< samples of the window that were dropped
};

/// A window that ends, as its step sees it.
struct EndedWindow {
  Averages losses;
  std::int64_t samples;
  bool whole;             ///< nothing of it was dropped
  bool learns;            ///< its sums can be divided by its weight, or need not be
  Evaluation evaluation;  ///< first: it must be given again
  bool is_first() const { return evaluation == Evaluation::first; }
};

/// How far a session has come: the samples that the window which has begun has taken, their losses, and what became of
/// the windows before. It knows nothing of nets, so that every session counts alike.
class WindowProgress {
 public:
  /// `options`: checked. `calls`: as those of `WindowEnds`. `twice`: the optimizer evaluates each window twice.
  /// Errors: OptionError for windows that end in two ways, or of which it must be known where they end.
  WindowProgress(const SessionOptions& options, std::int64_t calls, bool twice, MetricSet metrics = {});

  const WindowEnds& ends() const { return ends_; }
  const WindowCounters& counters() const { return now_; }
  std::int64_t steps() const { return now_.step; }
  std::int64_t position() const { return now_.position; }
  bool again() const { return now_.again > 0; }
  std::int64_t dropped_windows() const { return dropped_windows_; }
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }
  /// Of the samples that were taken, without those that have not come from the device.
  Averages& losses() { return now_.losses; }
  const Averages& losses() const { return now_.losses; }
  NoiseMeasure& noise() { return noise_; }
  const NoiseMeasure& noise() const { return noise_; }

  /// The position at which the window is full, unless its weights fill it before.
  std::int64_t length() const { return again() ? now_.again : ends_.samples(now_.step) - now_.dropped; }
  double full_weight() const { return ends_.weight(now_.step); }
  bool ends_at_weight() const { return full_weight() < std::numeric_limits<double>::infinity(); }
  bool full() const { return now_.position == length() || now_.losses.weight() >= full_weight(); }
  /// Whether it has ended, but its step failed.
  bool waits_for_step() const { return stepping_ || (ends_.calls() == 0 && now_.position > 0 && full()); }
  /// Its sums are being closed: it takes no more samples until `clear`.
  void begin_step() { stepping_ = true; }
  /// Whether any samples were given to it.
  bool has_begun() const { return now_.position + now_.dropped > 0; }

  /// Samples that fit into the window; any number where it is counted in calls.
  std::int64_t room() const;
  /// Errors: OptionError for samples of which some belong to the next window, where the optimizer evaluates each twice.
  void check_room(std::int64_t samples) const;
  /// How many of `left` samples the next part takes, `most` at most.
  std::int64_t next_part(std::int64_t left, std::int64_t most) const;
  /// The same for a window that will have come to `position`, and have this room.
  std::int64_t next_part(std::int64_t left, std::int64_t most, std::int64_t position, std::int64_t room) const;
  /// Where unfinished blocks have no memory. Errors: OptionError where a part of the next `count` samples would end inside a
  /// block of `block`, but not with its window; `last`: which ends with these samples.
  void check_blocks(std::int64_t count, bool last, const SessionOptions& options, std::int64_t block) const;
  bool is_filled_by(std::int64_t part) const { return now_.position + part == length(); }
  /// How many samples of a part, each of `unit` weights, belong to the window. `weight` may be null, all ones.
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
  /// The window goes on as if these samples had not been among those it was to take.
  void drop(std::int64_t samples);
  /// Whether the window ends with the part that was taken or dropped; `call`: with which a call ends.
  bool ends_here(bool call) { return ends_.calls() == 0 ? full() : call && ++now_.calls == ends_.calls(); }

  /// Forgets the window.
  void clear();

  /// The window, all of whose losses have come.
  EndedWindow ending() const;
  /// Errors: DataError for a weight that means cannot be divided by, and where it is not the window that must be given again.
  void check(const EndedWindow& window) const;
  /// `call`: what asks; `help`: what it advises. Errors: OptionError between the two evaluations of a window.
  void check_in_place(const char* call, const char* help = "") const;
  /// Errors: DataError for samples that were evaluated of such a weight.
  void check_evaluated(const Averages& samples) const;
  /// Its gradient is complete, a sum that is to be divided by this.
  void divide_gradient_by(double divisor) { gradient_divisor_ = divisor; }
  double gradient_divisor() const { return gradient_divisor_; }
  /// Where it was, sums of another window begin.
  void forget_gradient() { gradient_divisor_ = std::numeric_limits<double>::quiet_NaN(); }
  /// It becomes the last one.
  void keep(const EndedWindow& window);
  /// The optimizer has moved by it. Returns the number of steps made.
  int move_by(const EndedWindow& window);
  void count_step() { ++now_.step; }
  void drop_window() { ++dropped_windows_; }
  /// No window must be given again.
  void go_back() { now_.again = 0; }
  /// Throws a NonFiniteError that names the first of these that there is: a parameter that is not finite, like its gradient;
  /// the last parameter with a gradient that is not finite; the last parameter that is not finite; the loss.
  template <class P, class G>
  [[noreturn, gnu::cold]] void raise_non_finite(std::span<const ParameterInfo> parameters, P is_finite,
                                                G gradient_is_finite) const {
    const ParameterInfo *bad_gradient = nullptr, *bad_value = nullptr;  // a mask may be infinite
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

  /// Goes on from a state. The small batches of a window that had begun were measured elsewhere.
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
