#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gradual/train/epoch_record.hpp>
#include <gradual/train/progress.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual {

/// What becomes of a window that is not full at the end of an epoch.
enum class Tail : unsigned char {
  step,   ///< it steps on what it has
  carry,  ///< the next epoch goes on with it; after the last one `session().flush()` would step
  drop    ///< it is forgotten: these samples are not learned in this epoch
};

struct TrainerOptions {
  std::int64_t global_batch = 0;   ///< samples of one optimizer step
  std::int64_t micro_batch = 0;    ///< samples at once; 0: the most that the budget allows
  Budget memory_budget = {};       ///< bytes for everything the session holds; Budget::free_memory()
  /// always: a smaller budget may later ask for parts of any size; so it is where an epoch's end carries or drops a window.
  OpenBlocks open_blocks = OpenBlocks::as_needed;
  std::uint64_t seed = 0;
  int threads = 1;
  std::vector<std::string> freeze = {};  ///< parameters that training must not change: names, or patterns as "hidden/*"
  NonFinite non_finite = NonFinite::drop_window;
  Reduction reduction = Reduction::mean;
  Tail tail = Tail::step;
  Scalar window_samples = 0.0, window_weight = 0.0;  ///< as those of `SessionOptions`
  std::int64_t noise_batch = 0;                      ///< likewise
  bool evaluate_drawing = false;                     ///< likewise, of validations too
};

template <class Data>
struct FitOptions {
  int epochs = 1;
  /// A weight for each sample, by which an epoch draws as many as there are, as a `WeightedDraw` does; without weights it
  /// goes through each of them once.
  std::vector<double> draw = {};
  std::optional<Data> validate = {};
  bool validate_averaged = false;  ///< at the average that an `Ema` keeps, which is then what a patience puts back
  int patience = 0;      ///< epochs that are not better than the best so far before stopping; 0: never. That one is restored
  double min_delta = 0;  ///< by how much an epoch must be better to count as such
  /// What epochs are compared by: less is better, NaN is worst. Without one, the validation loss.
  std::function<double(const EpochRecord&)> monitor = {};
  Progress progress = Progress::automatic;
  std::function<void(const EpochRecord&)> on_epoch = {};
  std::function<void(std::int64_t step, const Averages& window)> on_step = {};
  std::function<void(std::int64_t samples)> on_micro_batch = {};  ///< may change the budget, as all of them save the state
};

namespace detail {
/// What a trainer asks its session for. Errors: OptionError for a global batch that is not positive.
SessionOptions session_options(const TrainerOptions& options);
}  // namespace detail

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/fit_options.ipp>
#endif
