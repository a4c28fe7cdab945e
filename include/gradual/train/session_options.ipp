#pragma once
#include <gradual/train/session_options.hpp>

#include <utility>

#include <gradual/core/error.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::detail {

/// Errors: OptionError where memory would decide what is dropped.
inline void check_policy(const SessionOptions& o) {
  if (o.non_finite == NonFinite::drop_micro_batch && (o.micro_batch == 0 || o.memory_budget.follows))
    throw OptionError(
        "Session: NonFinite::drop_micro_batch needs a given micro_batch, or memory would decide what is dropped");
}

/// Errors: OptionError for micro-batches that no window could fill.
inline void check_micro_batch(const SessionOptions& o) {
  if (o.micro_batch > o.global_batch)
    throw OptionError("Session: micro-batches of " + std::to_string(o.micro_batch) +
                      " samples are larger than the global batch of " + std::to_string(o.global_batch));
}

/// Errors: OptionError where the first window has a number of samples below 0, above the global batch or NaN, or a weight below
/// 0 or NaN; for an end given by a variable, which could change while a window is filled.
inline void check_windows(const SessionOptions& o) {
  if (o.window_samples.kind == Scalar::Kind::variable || o.window_weight.kind == Scalar::Kind::variable)
    throw OptionError("Session: .window_samples and .window_weight take a number or a schedule, not a variable");
  const double samples = o.window_samples.at(0), weight = o.window_weight.at(0);
  if (!(samples >= 0) || samples > static_cast<double>(o.global_batch))
    throw OptionError("Session: a first window of " + brief_text(samples) + " samples, which must be from 0 to "
                      "global_batch, " + std::to_string(o.global_batch));
  if (!(weight >= 0)) throw OptionError("Session: a first window of weight " + brief_text(weight));
}

/// Errors: OptionError where no window holds two of the small batches, or where their gradients are not means.
inline void check_noise(const SessionOptions& o, std::int64_t every) {
  if (o.noise_batch < 0 || (every == 0 && o.noise_batch >= o.global_batch))
    throw OptionError("Session: a noise_batch of " + std::to_string(o.noise_batch) +
                      " samples, which must be at least 0 and below the window's " + std::to_string(o.global_batch));
  if (o.noise_batch > 0 && o.reduction == Reduction::sum)
    throw OptionError("Session: gradient noise is measured of means: a noise_batch needs Reduction::mean");
}

GRADUAL_ONCE void refuse_moved() { throw OptionError("the session was moved from: it has no parameters"); }

GRADUAL_ONCE SessionOptions checked(SessionOptions o, std::int64_t every) {
  if (o.global_batch < 0 || o.micro_batch < 0 || (o.global_batch == 0 && o.micro_batch == 0))
    throw OptionError("Session: global_batch " + std::to_string(o.global_batch) + " and micro_batch " +
                      std::to_string(o.micro_batch) + ": at least one must be positive, none negative");
  if (o.memory_budget.bytes < 0)
    throw OptionError("Session: a budget of " + std::to_string(o.memory_budget.bytes) + " bytes");
  check_threads(o.threads);
  check_policy(o);
  if (o.global_batch == 0) o.global_batch = o.micro_batch;
  check_micro_batch(o);
  check_windows(o);
  check_noise(o, every);
  if (windows_vary(o)) o.open_blocks = OpenBlocks::always;  // their ends are not known in advance
  return o;
}

GRADUAL_ONCE SessionOptions checked_eager(SessionOptions o, std::int64_t every) {
  if (o.global_batch <= 0 || o.micro_batch < 0)
    throw OptionError("Session: global_batch " + std::to_string(o.global_batch) + " and micro_batch " +
                      std::to_string(o.micro_batch) + ": the first must be positive, the second not negative");
  if (o.gather || o.memory_budget.bytes != Budget::unlimited || o.memory_budget.follows)
    throw OptionError("an eager session has no .memory_budget and no .gather: limit its device's memory, Device::cpu(bytes)");
  o = checked(std::move(o), every);
  if (o.micro_batch == 0) o.micro_batch = o.global_batch;
  return o;
}

}  // namespace gradual::detail
