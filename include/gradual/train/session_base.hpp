#pragma once
#include <cstdint>
#include <string>

#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/sqrt.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

/// The part of every session's interface that reports on its windows and stores its state in a file.
template <class S>
class SessionBase {
 public:
  /// Whether the window just completed must be given again, in any parts: the optimizer evaluates each window twice, the second
  /// time at a point near the parameters, where they are held until then.
  bool again() const { return progress().again(); }
  /// Errors: OptionError, for `call`, which needs the parameters in place, where they have been moved (`again`).
  void check_in_place(const char* call) const { progress().check_in_place(call); }
  /// Whether the window is complete but its step failed: the next call that adds samples makes the step first, as `flush` does;
  /// `discard` forgets the window.
  bool waits_for_step() const { return progress().waits_for_step(); }

  const Averages& last_window() const { return progress().counters().last; }
  std::int64_t step_count() const { return progress().steps(); }
  /// Returns the number of samples that the window has taken, without those of dropped micro-batches.
  std::int64_t position() const { return progress().position(); }
  /// Returns the number of samples given to the window, also those of dropped micro-batches.
  std::int64_t samples_given() const { return progress().given(); }
  /// Returns the position at which the window that has begun is full, unless its weights fill it before.
  std::int64_t window() const { return progress().length(); }
  /// Return how many were dropped since this session was made because their loss or gradient was not finite.
  std::int64_t dropped_windows() const { return progress().dropped_windows(); }
  std::int64_t dropped_micro_batches() const { return progress().dropped_micro_batches(); }
  /// Returns the noise of the last window's gradient between batches of `noise_batch` samples, the first of which begins with
  /// the window: the same bits however it was cut. It holds no window where it was not measured: the window had only one such
  /// batch, made no step or was restored after it had begun, or an eager session had no memory to measure it.
  const GradientNoise& gradient_noise() const { return progress().noise().last(); }
  /// Returns the factor by which the losses of the window that has begun are scaled; 1 without a `LossScale`.
  double loss_scale() const { return session().core_.scaler().scale(); }

  /// Returns the L2 norm of the final gradient of the last window, over all that is not frozen, before the optimizer and its
  /// adapters: of the mean loss, or of the sum. NaN where there is none: before this session's first window, after one of
  /// weight 0 or one that was forgotten, and after `restore`. Errors: OptionError inside a window, whose gradient is
  /// incomplete.
  double gradient_norm() const {
    if (position() > 0) throw OptionError("gradient_norm: a window has begun; its gradient is known only at its end");
    // Removes the sign of a NaN, so that it prints as nan.
    return math::abs(math::sqrt(session().core_.squares_of_gradient()) / progress().gradient_divisor());
  }

  /// Save and restore the `state` in a file, which is written atomically. Errors: also FileError for a damaged file.
  void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] { save(path, session().state()); });
  }
  void load_state(const std::string& path) { static_cast<S&>(*this).restore(load(path)); }

 private:
  friend S;
  SessionBase() = default;  // for no other class
  const S& session() const { return static_cast<const S&>(*this); }
  const WindowProgress& progress() const { return session().progress(); }
};

}  // namespace gradual::detail
