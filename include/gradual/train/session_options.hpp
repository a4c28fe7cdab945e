#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <gradual/autodiff/scalar.hpp>
#include <gradual/core/budget.hpp>
#include <gradual/train/memory.hpp>
#include <gradual/train/micro_batch.hpp>

namespace gradual {

/// The handling of a window whose loss or gradient is infinite or not a number. Parameters, optimizer state, step count and
/// schedules stay as they were, and nothing of it enters the next window.
enum class NonFinite : unsigned char {
  drop_window,  ///< the window makes no step and is counted in `dropped_windows()`
  raise,        ///< the same, and throws a NonFiniteError that names the value
  /// Undoes only the offending micro-batch, from a copy of the window's sums that the plan then includes, and counts it in
  /// `dropped_micro_batches()`. The window still ends with the same sample, steps on what is left divided by its weight, and
  /// has the bits of a window that was given only that: later samples move up. The micro-batch size must be given, since
  /// otherwise memory would decide what is dropped.
  drop_micro_batch
};

/// The gradient that the inner optimizer receives for a window: Σwᵢ∇ℓᵢ / Σwᵢ, or the undivided sum, whose weights may have any
/// sign; rules, `ScaleRate` included, then see a weight of 1. A `.plus` term enters once in either.
enum class Reduction : unsigned char { mean, sum };

struct SessionOptions {
  std::int64_t global_batch = 0;    ///< samples per window; 0: the micro-batch
  std::int64_t micro_batch = 0;     ///< most samples at once, from the global batch; 0: as many of it as memory allows
  Budget memory_budget = {};        ///< bytes for everything the session holds; Budget::free_memory()
  Prefer prefer = Prefer::largest;  ///< among micro-batches that fit
  OpenBlocks open_blocks = OpenBlocks::always;  ///< as_needed: less memory, but parts must end where blocks end
  bool gather = false;                          ///< takes memory to gather samples from anywhere in a data set
  std::uint64_t seed = 0;
  int threads = 1;                       ///< 1 to 1024; the bits do not depend on it
  std::vector<std::string> freeze = {};  ///< parameters that training must not change: names, or patterns such as "hidden/*"
  NonFinite non_finite = NonFinite::drop_window;
  Reduction reduction = Reduction::mean;
  Scalar window_samples = 0.0;  ///< samples per window at each step, clamped to 1 to `global_batch`; 0: `global_batch`
  Scalar window_weight = 0.0;   ///< a window also ends with the sample at which its weights reach this sum; 0: off
  std::int64_t noise_batch = 0;  ///< measures the gradient's noise between batches of this size, at which parts end too; 0: off
  bool evaluate_drawing = false;  ///< evaluations apply noise and masks too, the same in each evaluation
};

namespace detail {

inline bool is_given(const Scalar& s) { return s.kind != Scalar::Kind::constant || s.value != 0; }
/// Returns the extras that the windows of a session with these options keep.
inline WindowExtras extras(const SessionOptions& o) {
  return {.undo = o.non_finite == NonFinite::drop_micro_batch, .noise_batch = o.noise_batch};
}
inline const char* name_of(Reduction reduction) { return reduction == Reduction::sum ? "sum" : "mean"; }
/// Returns the divisor of a window's sums.
inline double divisor(const SessionOptions& o, double weight) { return o.reduction == Reduction::sum ? 1 : weight; }

/// Whether a window may end elsewhere than after `global_batch` samples.
inline bool windows_vary(const SessionOptions& o) { return is_given(o.window_samples) || is_given(o.window_weight); }

/// Refuses a call that needs what a session had before it was moved from. Errors: OptionError, always.
[[noreturn, gnu::cold]] void refuse_moved();

/// Returns the options of a compiled session with both sizes filled in. `every`: calls per window; 0: counted in samples.
/// Errors: OptionError.
SessionOptions checked(SessionOptions o, std::int64_t every);

/// Does the same for an eager session. Errors: OptionError.
SessionOptions checked_eager(SessionOptions o, std::int64_t every);

}  // namespace detail
}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/session_options.ipp>
#endif
