#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <gradual/autodiff/scalar.hpp>
#include <gradual/core/budget.hpp>
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
  bool evaluate_drawing = false;  ///< evaluations have noise and masks too, which are the same in each of them
};

namespace detail {

inline bool is_given(const Scalar& s) { return s.kind != Scalar::Kind::constant || s.value != 0; }
/// What the windows of a session or a trainer with these options keep.
template <class Options>
WindowExtras extras(const Options& o) {
  return {.undo = o.non_finite == NonFinite::drop_micro_batch, .noise_batch = o.noise_batch};
}
inline const char* name_of(Reduction reduction) { return reduction == Reduction::sum ? "sum" : "mean"; }
/// By what a window's sums are divided.
inline double divisor(const SessionOptions& o, double weight) { return o.reduction == Reduction::sum ? 1 : weight; }

/// Whether a window may end elsewhere than after `global_batch` samples.
inline bool windows_vary(const SessionOptions& o) { return is_given(o.window_samples) || is_given(o.window_weight); }

/// What a session that was moved from answers. Errors: OptionError, always.
[[noreturn, gnu::cold]] void refuse_moved();

/// The options of a compiled session with both sizes filled in. `every`: calls of a window; 0: it is counted in samples.
/// Errors: OptionError.
SessionOptions checked(SessionOptions o, std::int64_t every);

/// The same for an eager session. Errors: OptionError.
SessionOptions checked_eager(SessionOptions o, std::int64_t every);

}  // namespace detail
}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/session_options.ipp>
#endif
