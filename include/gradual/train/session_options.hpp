#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <gradual/autodiff/scalar.hpp>
#include <gradual/core/budget.hpp>
#include <gradual/core/error.hpp>
#include <gradual/train/memory.hpp>
#include <gradual/train/micro_batch.hpp>

namespace gradual {

/// What becomes of a window whose loss or gradient is infinite or not a number. Parameters, optimizer state, step count and
/// schedules stay as they were, and nothing of it is left in the next window.
enum class NonFinite : unsigned char {
  drop_window,  ///< it makes no step and is counted in `dropped_windows()`
  raise,        ///< the same, and NonFiniteError names it
  /// Only the micro-batch that brought it is undone and counted in `dropped_micro_batches()`, by a copy of the window's sums
  /// that is in the plan then: the window ends with the same sample, steps on what is left, divided by the weight of that, and
  /// has the bits of a window that was given only that: later samples move up. The micro-batch must be given, or memory would
  /// decide on what is dropped.
  drop_micro_batch
};

/// What the inner optimizer is given of a window: Σwᵢ∇ℓᵢ / Σwᵢ, or the sum as it is, whose weights may be of any sign and of
/// which rules know no weight but 1, `ScaleRate` neither. A `.plus` term enters once in either.
enum class Reduction : unsigned char { mean, sum };

struct SessionOptions {
  std::int64_t global_batch = 0;    ///< samples of one window; 0: the micro-batch
  std::int64_t micro_batch = 0;     ///< most samples at once, of the global batch; 0: as many of it as memory allows
  Budget memory_budget = {};        ///< bytes for everything the session holds; Budget::free_memory()
  Prefer prefer = Prefer::largest;  ///< among micro-batches that fit
  OpenBlocks open_blocks = OpenBlocks::always;  ///< as_needed: less memory, parts must end where blocks end
  bool gather = false;                          ///< memory to copy samples together from anywhere in a data set
  std::uint64_t seed = 0;
  int threads = 1;                       ///< 1 to 1024; the bits do not depend on it
  std::vector<std::string> freeze = {};  ///< parameters that training must not change: names, or patterns as "hidden/*"
  NonFinite non_finite = NonFinite::drop_window;
  Reduction reduction = Reduction::mean;
  Scalar window_samples = 0.0;  ///< samples of the window of each step, kept between 1 and `global_batch`; 0: that
  Scalar window_weight = 0.0;   ///< a window also ends with the sample at which its weights sum to this; 0: it does not
  std::int64_t noise_batch = 0;  ///< the gradient's noise is measured between batches of so many, where parts end too; 0: not
};

namespace detail {

inline bool is_given(const Scalar& s) { return s.kind != Scalar::Kind::constant || s.value != 0; }
/// What the windows of a session or a trainer with these options keep.
template <class Options>
WindowExtras extras(const Options& o) {
  return {.undo = o.non_finite == NonFinite::drop_micro_batch, .noise_batch = o.noise_batch};
}
/// Errors: OptionError where memory would decide on what is dropped.
[[gnu::cold]] inline void check_policy(const SessionOptions& o) {
  if (o.non_finite == NonFinite::drop_micro_batch && (o.micro_batch == 0 || o.memory_budget.follows))
    throw OptionError(
        "Session: NonFinite::drop_micro_batch needs a given micro_batch, or memory would decide on what is dropped");
}

inline const char* name_of(Reduction reduction) { return reduction == Reduction::sum ? "sum" : "mean"; }
/// By what a window's sums are divided.
inline double divisor(const SessionOptions& o, double weight) { return o.reduction == Reduction::sum ? 1 : weight; }

/// Whether a window may end elsewhere than after `global_batch` samples.
inline bool windows_vary(const SessionOptions& o) { return is_given(o.window_samples) || is_given(o.window_weight); }
/// Errors: OptionError for micro-batches that no window could fill.
[[gnu::cold]] inline void check_micro_batch(const SessionOptions& o) {
  if (o.micro_batch > o.global_batch)
    throw OptionError("Session: micro-batches of " + std::to_string(o.micro_batch) +
                      " samples are larger than the global batch of " + std::to_string(o.global_batch));
}
/// Errors: OptionError where the first window is of no samples, of more than the global batch, or of no weight; for an end
/// that a variable says, which may change while a window is filled.
[[gnu::cold]] inline void check_windows(const SessionOptions& o) {
  if (o.window_samples.kind == Scalar::Kind::variable || o.window_weight.kind == Scalar::Kind::variable)
    throw OptionError("Session: windows end by a number or a schedule, not by a variable");
  const double samples = o.window_samples.at(0), weight = o.window_weight.at(0);
  if (!(samples >= 0) || samples > static_cast<double>(o.global_batch))
    throw OptionError("Session: a first window of " + std::to_string(samples) + " samples, where global_batch is " +
                      std::to_string(o.global_batch) + ", the most");
  if (!(weight >= 0)) throw OptionError("Session: a first window of weight " + std::to_string(weight));
}

/// Errors: OptionError where no window has two of the small batches, or their gradients are no means.
[[gnu::cold]] inline void check_noise(const SessionOptions& o, std::int64_t every) {
  if (o.noise_batch < 0 || (every == 0 && o.noise_batch >= o.global_batch))
    throw OptionError("Session: a noise_batch of " + std::to_string(o.noise_batch) +
                      " samples: a window needs two of them, and is of " + std::to_string(o.global_batch));
  if (o.noise_batch > 0 && o.reduction == Reduction::sum)
    throw OptionError("Session: the noise of gradients is that of means, Reduction::sum gives none");
}

/// Errors: OptionError for no thread, or more than any machine would gain by.
inline void check_threads(int threads) {
  constexpr int most = 1024;
  if (threads < 1 || threads > most)
    throw OptionError("Session: " + std::to_string(threads) + " threads, where 1 to " + std::to_string(most) +
                      " can be asked for");
}

/// The options of a compiled session with both sizes filled in. `every`: calls of a window; 0: it is counted in samples.
/// Errors: OptionError.
[[gnu::cold]] inline SessionOptions checked(SessionOptions o, std::int64_t every) {
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
  if (windows_vary(o)) o.open_blocks = OpenBlocks::always;  // where they end is not known before
  return o;
}

/// The same for an eager session. Errors: OptionError.
[[gnu::cold]] inline SessionOptions checked_eager(SessionOptions o, std::int64_t every) {
  if (o.global_batch <= 0 || o.micro_batch < 0)
    throw OptionError("Session: global_batch " + std::to_string(o.global_batch) + " and micro_batch " +
                      std::to_string(o.micro_batch) + ": the first must be positive, the second not negative");
  check_policy(o);
  check_threads(o.threads);
  if (o.gather || o.memory_budget.bytes != Budget::unlimited || o.memory_budget.follows)
    throw OptionError("an eager session has no .memory_budget and no .gather: its device keeps a limit, Device::cpu(bytes)");
  check_micro_batch(o);
  if (o.micro_batch == 0) o.micro_batch = o.global_batch;
  check_windows(o);
  check_noise(o, every);
  return o;
}

}  // namespace detail
}  // namespace gradual
