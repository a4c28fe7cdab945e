#pragma once
#include <gradual/train/window_progress.hpp>

#include <algorithm>
#include <string>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

/// Checks the options of a session whose optimizer evaluates each window twice. Errors: OptionError where a window's end is not
/// known in advance, or part of it may be dropped.
inline void check_ends_known(const SessionOptions& options) {
  if (options.non_finite == NonFinite::drop_micro_batch)
    throw OptionError("Session: the optimizer evaluates each window twice, so none of its micro-batches can be dropped");
  if (is_given(options.window_weight))
    throw OptionError("Session: the optimizer evaluates each window twice, so windows cannot end at a weight");
}

GRADUAL_ONCE WindowProgress::WindowProgress(const SessionOptions& options, std::int64_t calls, bool twice, MetricSet metrics)
    : ends_(options, calls),
      twice_(twice),
      divides_(options.reduction == Reduction::mean),
      metrics_(metrics),
      noise_(options.noise_batch) {
  if (twice) check_ends_known(options);
  now_.losses = now_.last = Averages(metrics);
}

GRADUAL_ONCE void WindowProgress::check_can_be_saved() const {
  if (waits_for_step()) throw OptionError("state: the window's step has failed: flush it again, or discard it");
}

GRADUAL_ONCE std::int64_t WindowProgress::room() const {
  return ends_.calls() == 0 ? length() - now_.position : std::numeric_limits<std::int64_t>::max();
}

GRADUAL_ONCE WindowProgress::Place WindowProgress::next_place() const {
  if (!waits_for_step()) return {now_.position, room()};
  if (ends_.calls() != 0) return {0, room()};
  return {0, twice_ && !again() ? now_.position : ends_.samples(now_.step + 1)};
}

GRADUAL_ONCE void WindowProgress::check_room(std::int64_t samples) const {
  if (!twice_ || ends_.calls() != 0) return;
  const std::int64_t left = next_place().room;
  if (samples > left)
    throw OptionError("accumulate: " + std::to_string(samples) + " samples, but " + std::to_string(left) +
                      " end the window; the optimizer evaluates each window twice, so none may go into the next");
}

GRADUAL_ONCE std::int64_t WindowProgress::next_part(std::int64_t left, std::int64_t most) const {
  return next_part(left, most, now_.position, room());
}

GRADUAL_ONCE std::int64_t WindowProgress::next_part(std::int64_t left, std::int64_t most, std::int64_t position,
                                                    std::int64_t room) const {
  return std::min(noise_.within_batch(std::min(left, most), position), room);
}

GRADUAL_ONCE void WindowProgress::take(std::int64_t samples) {
  now_.position += samples;
  forget_gradient();
}

GRADUAL_ONCE void WindowProgress::drop(std::int64_t samples) {
  now_.dropped += samples;
  ++dropped_micro_batches_;
  forget_gradient();
}

GRADUAL_ONCE void WindowProgress::clear() {
  stepping_ = false;
  now_.losses.clear();
  now_.position = now_.calls = now_.dropped = 0;
  noise_.begin_window();
}

GRADUAL_ONCE EndedWindow WindowProgress::ending() const {
  const bool learns = divides_ ? now_.losses.weight() != 0 : now_.position > 0;
  return {now_.losses, now_.position, now_.dropped == 0, learns, twice_ && !again() ? Evaluation::first : Evaluation::second};
}

GRADUAL_ONCE void WindowProgress::check(const EndedWindow& window) const {
  if (divides_) window.losses.check_weights("a window");
  if (!again()) return;
  const double first = now_.last.weight(), second = window.losses.weight();
  if (window.samples != now_.again || second != first)
    throw DataError("the window must be given again: " + std::to_string(now_.again) + " samples of weight " +
                    exact_text(first) + ", got " + std::to_string(window.samples) + " of weight " + exact_text(second));
}

GRADUAL_ONCE void WindowProgress::check_in_place(const char* call, const char* help) const {
  if (again()) throw OptionError(std::string(call) + ": the parameters are displaced until the window is given again" + help);
}

GRADUAL_ONCE void WindowProgress::check_evaluated(const Averages& samples) const {
  if (divides_) samples.check_weights("what was evaluated");
}

GRADUAL_ONCE void WindowProgress::keep(const EndedWindow& window) {
  if (!again()) now_.last = window.losses;
  if (window.samples == 0) ++dropped_windows_;  // all of it was dropped
}

GRADUAL_ONCE int WindowProgress::move_by(const EndedWindow& window) {
  now_.again = window.is_first() ? window.samples : 0;
  now_.step += window.is_first() ? 0 : 1;
  return window.is_first() ? 0 : 1;
}

GRADUAL_ONCE void WindowProgress::resume(const WindowCounters& counters) {
  now_ = counters;
  forget_gradient();
  stepping_ = false;
  noise_.end_window();
  noise_.begin_window();
  if (now_.position > 0) noise_.give_up();
}

GRADUAL_ONCE void WindowProgress::check_blocks(std::int64_t count, bool last, const SessionOptions& options,
                                               std::int64_t block) const {
  auto [at, left] = next_place();
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = next_part(count - done, options.micro_batch, at, left);
    at += part;
    left -= part;
    done += part;
    if (left == 0) at = 0, left = options.global_batch;
    else if (at % block != 0 && !(last && done == count))
      throw OptionError("accumulate: a part of " + std::to_string(part) + " samples ends inside a block of " +
                        std::to_string(block) + "; OpenBlocks::always allows parts of any size");
  }
}

GRADUAL_ONCE void WindowProgress::raise_non_finite(const char* what, const ParameterInfo* of) const {
  throw NonFiniteError("step " + std::to_string(now_.step + 1) + ": " +
                       (of == nullptr ? "the loss" : std::string(what) + " '" + of->name.string() + "'") +
                       " is not finite; the window is dropped, nothing is changed");
}

}  // namespace gradual::detail
