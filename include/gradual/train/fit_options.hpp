#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gradual/train/epoch_record.hpp>
#include <gradual/train/progress.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual {

/// The handling of a window that is not full at the end of an epoch.
enum class Tail : unsigned char {
  step,   ///< steps on what it has
  carry,  ///< continues it in the next epoch; after the last one `session().flush()` would step
  drop    ///< forgets it: these samples are not learned in this epoch
};

struct TrainerOptions {
  std::int64_t global_batch = 0;   ///< samples per optimizer step
  std::int64_t micro_batch = 0;    ///< samples at once; 0: the most that the budget allows
  Budget memory_budget = {};       ///< bytes for everything the session holds; Budget::free_memory()
  /// always: a later, smaller budget may use parts of any size. Implied where an epoch's end carries or drops a window.
  OpenBlocks open_blocks = OpenBlocks::as_needed;
  std::uint64_t seed = 0;
  int threads = 1;
  std::vector<std::string> freeze = {};  ///< parameters that training must not change: names, or patterns such as "hidden/*"
  NonFinite non_finite = NonFinite::drop_window;
  Reduction reduction = Reduction::mean;
  Tail tail = Tail::step;
  Scalar window_samples = 0.0, window_weight = 0.0;  ///< as those of `SessionOptions`
  std::int64_t noise_batch = 0;                      ///< likewise
  bool evaluate_drawing = false;                     ///< likewise, for validations too
};

template <class Data>
struct FitOptions {
  int epochs = 1;
  /// A weight for each sample: an epoch then draws as many samples as there are by these weights, as a `WeightedDraw` does;
  /// without weights it visits each sample once.
  std::vector<double> draw = {};
  std::optional<Data> validate = {};
  bool validate_averaged = false;  ///< validates the average that an `Ema` keeps, which patience then restores
  int patience = 0;      ///< stops after this many epochs without improvement and restores the best; 0: never
  double min_delta = 0;  ///< by how much an epoch must improve on the best to count as better
  /// The value by which epochs are compared: less is better, NaN is worst. By default the validation loss.
  std::function<double(const EpochRecord&)> monitor = {};
  Progress progress = Progress::automatic;
  std::function<void(const EpochRecord&)> on_epoch = {};
  std::function<void(std::int64_t step, const Averages& window)> on_step = {};
  /// May change the budget; all callbacks may save the state. `samples`: 0 where a step that an error had delayed was made.
  std::function<void(std::int64_t samples)> on_micro_batch = {};
};

namespace detail {
/// Returns a trainer's options for its session. Errors: OptionError for a global batch that is not positive.
SessionOptions session_options(const TrainerOptions& options);
/// Checks an optimizer's windows: the calls that they are counted in, or 0, and whether each is evaluated twice. Errors:
/// OptionError for those that no trainer has.
void check_trainer_windows(std::int64_t calls, bool evaluates_twice, Tail tail);
}  // namespace detail

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/fit_options.ipp>
#endif
