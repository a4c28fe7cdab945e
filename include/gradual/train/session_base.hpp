#pragma once
#include <cstdint>
#include <string>

#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/sqrt.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/window_progress.hpp>

namespace gradual::detail {

/// What every session tells of its windows, and its state as a file.
template <class S>
class SessionBase {
 public:
  /// Whether the window that was just complete must be given again, in any parts: the optimizer evaluates each window twice,
  /// the second time not at the parameters but near them, where they are until then.
  bool again() const { return progress().again(); }
  /// `call`: what needs the parameters where they belong. Errors: OptionError where they are elsewhere, for `again`.
  void check_in_place(const char* call) const { progress().check_in_place(call); }
  /// Whether the window is complete but its step failed: whatever is given next makes it first, as `flush` does; `discard`
  /// forgets the window.
  bool waits_for_step() const { return progress().waits_for_step(); }

  const Averages& last_window() const { return progress().counters().last; }
  std::int64_t step_count() const { return progress().steps(); }
  /// Samples that the window has taken, without those of dropped micro-batches.
  std::int64_t position() const { return progress().position(); }
  /// The position at which the window that has begun is full, unless its weights fill it before.
  std::int64_t window() const { return progress().length(); }
  /// Windows, and micro-batches, since this session was made that were dropped because their loss or gradient was not finite.
  std::int64_t dropped_windows() const { return progress().dropped_windows(); }
  std::int64_t dropped_micro_batches() const { return progress().dropped_micro_batches(); }
  /// The noise of the last window's gradient between batches of `noise_batch` samples, of which the first begins with the
  /// window: the same bits however it was cut. Of no window where it was not measured: it had but one of them, made no step,
  /// was restored after it had begun, or, in an eager session, there was no memory to measure it.
  const GradientNoise& gradient_noise() const { return progress().noise().last(); }
  /// By what the losses of the window that has begun are scaled; 1 where no `LossScale` does.
  double loss_scale() const { return session().scaler().scale(); }

  /// The L2 norm of the gradient that the last window ended with, over what is not frozen, before the optimizer and its
  /// adapters: of the mean loss, or of the sum. NaN where there is none: before the first window of this session, after one of
  /// weight 0 or one that was forgotten, and after `restore`. Errors: OptionError inside a window, whose gradient is not
  /// complete.
  double gradient_norm() const {
    if (position() > 0) throw OptionError("gradient_norm: a window has begun, whose gradient is known only at its end");
    // of a NaN without its sign, so that it prints as nan
    return math::abs(math::sqrt(session().squares_of_gradient()) / progress().gradient_divisor());
  }

  /// `state` and `restore` through a file, written atomically. Errors: also FileError for a file that is damaged.
  void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] { save(path, session().state()); });
  }
  void load_state(const std::string& path) { static_cast<S&>(*this).restore(load(path)); }

 private:
  friend S;
  SessionBase() = default;  // of no other class
  const S& session() const { return static_cast<const S&>(*this); }
  const WindowProgress& progress() const { return session().progress(); }
};

}  // namespace gradual::detail
