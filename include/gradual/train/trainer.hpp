#pragma once
#include <functional>
#include <limits>
#include <optional>

#include <gradual/core/shuffle.hpp>
#include <gradual/train/parameters_file.hpp>
#include <gradual/train/dataset.hpp>
#include <gradual/train/fit_state.hpp>
#include <gradual/train/progress.hpp>
#include <gradual/train/session.hpp>

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
};

/// What was seen in one epoch.
struct EpochRecord {
  int epoch = 0;
  std::int64_t steps = 0;            ///< since the session was made, as the next
  std::int64_t dropped_windows = 0;  ///< made no step: loss or gradient were not finite
  std::int64_t dropped_micro_batches = 0;
  Averages training, validation;     ///< training: over the windows that ended in it
  double seconds = 0;
};
using History = std::vector<EpochRecord>;

template <class Data>
struct FitOptions {
  int epochs = 1;
  std::optional<Data> validate = {};
  int patience = 0;      ///< epochs that are not better than the best so far before stopping; 0: never. That one is restored
  double min_delta = 0;  ///< by how much an epoch must be better to count as such
  std::function<double(const EpochRecord&)> monitor = {};  ///< of which less is better; without one the validation loss
  Progress progress = Progress::automatic;
  std::function<void(const EpochRecord&)> on_epoch = {};
  std::function<void(std::int64_t step, const Averages& window)> on_step = {};
  std::function<void(std::int64_t samples)> on_micro_batch = {};  ///< may change the budget, as all of them save the state
};

namespace detail {
/// What a trainer asks its session for. Errors: OptionError for a global batch that is not positive.
[[gnu::cold]] inline SessionOptions session_options(const TrainerOptions& options) {
  if (options.global_batch <= 0)
    throw OptionError("Trainer: a global batch of " + std::to_string(options.global_batch));
  SessionOptions result;
  result.global_batch = options.global_batch;
  result.micro_batch = options.micro_batch;
  result.memory_budget = options.memory_budget;
  result.open_blocks = options.tail == Tail::step ? options.open_blocks : OpenBlocks::always;  // epochs end anywhere
  result.gather = true;
  result.seed = options.seed;
  result.threads = options.threads;
  result.freeze = options.freeze;
  result.non_finite = options.non_finite;
  result.reduction = options.reduction;
  result.window_samples = options.window_samples;
  result.window_weight = options.window_weight;
  result.noise_batch = options.noise_batch;
  return result;
}
}  // namespace detail

/// Trains a compiled net on a data set: shuffling, micro-batches within a memory budget, validation, progress.
template <class Net, class Optimizer>
class Trainer {
  using Data = DatasetOf<typename Net::InputTypes>;
  using Real = typename Net::Real;

 public:
  using Session = gradual::Session<Net, Optimizer>;

  /// Errors: MemoryError where one sample does not fit the budget; OptionError for a global batch that is not positive, and
  /// for windows of calls (`Accumulate::every`), which are a session's.
  [[gnu::cold]] Trainer(Net net, const Optimizer& optimizer, const TrainerOptions& options)
      : session_(net, optimizer, detail::session_options(options)), tail_(options.tail) {
    if (calls_of(optimizer) != 0)
      throw OptionError("Trainer: windows of " + std::to_string(calls_of(optimizer)) +
                        " calls are a session's, a trainer's are counted in samples");
    if (evaluates_twice<RuleOf<Optimizer>> && tail_ == Tail::carry)
      throw OptionError("Trainer: the optimizer evaluates each window twice, so that none can be carried into the next epoch");
    fit_.sums = Averages(metrics);
  }

  /// Runs `epochs` passes in an order keyed by (seed, epoch); `tail` says what the last window of one becomes. An epoch
  /// that was interrupted, also in a run whose state was loaded, is the first of these: only its rest is learned.
  /// Errors: OptionError for negative epochs, a patience without data to validate on or a monitor, or fewer samples than a
  /// window where its tail is dropped; DataError for labels outside the classes or values that are not finite, all before
  /// anything is learned, or for another number of samples than an interrupted epoch has; OptionError inside a callback of
  /// this trainer; NonFiniteError after an epoch whose windows were all dropped; MemoryError.
  [[gnu::cold]] History fit(const Data& data, const FitOptions<Data>& options) {
    if (running_ != nullptr) throw OptionError("fit: this trainer is inside a fit");
    const Running<const Data*> running(running_, &data);  // clang 14 does not deduce it
    return or_memory_error("fit", [&] { return run_epochs(data, options); });
  }

  /// Ends the fit that calls this from a callback. After an epoch it ends as if no more had been asked for; within one, the
  /// rest of it is what the next fit learns first, also in a run that loads this one's state.
  void stop() { stopped_ = true; }

  /// Weighted means of loss and metrics over a data set. Errors: DataError as `fit`.
  Averages evaluate(const Data& data) {
    validate(data);
    return averages_of(data);
  }

  /// Writes the parameters by name, beside what `file` holds already. Errors: as `gradual::save`.
  [[gnu::cold]] void save(const std::string& path, Checkpoint file = {}) const {
    or_memory_error("saving parameters", [&] {
      const auto parameters = session_.parameters();
      save_parameters(path, parameters, std::move(file));
    });
  }
  /// Reads parameters by name. Errors: FileError; the parameters are then as they were.
  [[gnu::cold]] void load(const std::string& path) {
    or_memory_error("loading parameters", [&] {
      std::vector<Real> loaded(static_cast<std::size_t>(Net::parameter_elements));
      load_parameters(gradual::load(path), ParametersView<Net>(loaded.data()));
      session_.set_parameters(loaded);
    });
  }

  /// Saves everything that decides how training goes on: the session's state, the epoch and the place in it, the best
  /// parameters seen. May be called from `on_epoch`, `on_step` and `on_micro_batch`; then loaded, the run ends in the
  /// same bits.
  /// Errors: as `gradual::save`.
  [[gnu::cold]] void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] {
      Checkpoint file = session_.state();
      fit_.store(file);
      gradual::save(path, file);
    });
  }
  /// May be called from `on_epoch`. Errors: as `Session::load_state`; OptionError within an epoch; DataError within a fit to
  /// another number of samples than the state's epoch has; nothing is changed then.
  [[gnu::cold]] void load_state(const std::string& path) {
    if (inside_epoch_) throw OptionError("load_state: an epoch of this trainer has begun: load states in on_epoch");
    or_memory_error("loading a state", [&] {
      const Checkpoint file = gradual::load(path);
      auto state = detail::in_file(file, [&] { return FitState<Real>::from(file, metrics, Net::parameter_elements); });
      if (running_ != nullptr) check_begun(state, *running_);
      session_.restore(file);
      fit_ = std::move(state);
    });
  }
  /// As `Session::set_budget`, also from `on_micro_batch`, `on_step` and `on_epoch`.
  void set_budget(Budget budget) { session_.set_budget(budget); }
  /// Complete epochs so far.
  int epoch() const { return fit_.epoch; }

  const MemoryTable& memory() const { return session_.memory(); }
  auto parameters() const { return session_.parameters(); }
  Session& session() { return session_; }

 private:
  Averages averages_of(const Data& data) { return data.apply([&](auto... spans) { return session_.evaluate(spans...); }); }

  [[gnu::cold]] static void validate(const Data& data) {
    const std::int64_t samples = data.apply(
        [](auto... spans) { return validate_inputs<typename Net::Training>(typename Net::InputTypes{}, spans...); });
    if (samples != data.size())
      throw DataError("the data set counts " + std::to_string(data.size()) + " samples where the net finds " +
                      std::to_string(samples) + ": make it by Dataset::of(samples, spans...)");
  }

  static void check(const FitOptions<Data>& options) {
    if (options.epochs < 0) throw OptionError("fit: " + std::to_string(options.epochs) + " epochs");
    if (options.patience < 0) throw OptionError("fit: a patience of " + std::to_string(options.patience) + " epochs");
    if (!(options.min_delta >= 0)) throw OptionError("fit: a min_delta of " + std::to_string(options.min_delta));
    if (options.patience > 0 && !options.validate && !options.monitor)
      throw OptionError("fit: a patience of " + std::to_string(options.patience) +
                        " epochs needs data to validate on, or a monitor");
  }

  [[gnu::cold]] static void check_validation(const Data& data) {
    try {
      validate(data);
    } catch (const DataError& error) {
      throw DataError(std::string("validation data: ") + error.what());
    }
  }

  /// Errors: DataError, OptionError, before anything is changed.
  [[gnu::cold]] void check(const Data& data, const FitOptions<Data>& options) const {
    validate(data);
    if (data.size() > std::numeric_limits<std::int32_t>::max())
      throw DataError("fit: a data set of " + std::to_string(data.size()) +
                      " samples is too large for one order: train on subsets of it");
    if (options.validate) check_validation(*options.validate);
    check_begun(fit_, data);
    if (tail_ == Tail::drop && data.size() < session_.window() && !detail::windows_vary(session_.options()))
      throw OptionError("fit: Tail::drop would drop all of " + std::to_string(data.size()) + " samples, a window has " +
                        std::to_string(session_.window()));
  }

  [[gnu::cold]] History run_epochs(const Data& data, const FitOptions<Data>& options) {
    check(options);
    check(data, options);
    ProgressLine line(options.progress, options.epochs);
    History history;
    std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
    stopped_ = false;
    for (int i = 0; i < options.epochs && !stopped_ && (options.patience <= 0 || fit_.without_progress < options.patience);
         ++i) {
      const std::int64_t already = fit_.done;
      const Standing before = standing();
      const Stopwatch watch;
      run_epoch(data, order, options);
      if (fit_.done < fit_.samples) return history;  // stopped within it
      const EpochRecord& record = history.emplace_back(record_epoch(watch, options));
      end_epoch(record, options);
      const double speed = static_cast<double>(data.size() - already) / record.seconds;
      line.show(i + 1, record.training, record.validation, record.dropped_windows, speed);
      if (options.on_epoch) options.on_epoch(record);
      check_progress(before, record);
    }
    if (options.patience > 0 && !fit_.best.empty()) {
      session_.discard();  // what Tail::carry left is of other parameters
      session_.set_parameters(fit_.best);
    }
    forget_best();
    return history;
  }
  EpochRecord record_epoch(const Stopwatch& watch, const FitOptions<Data>& options) {
    EpochRecord record;
    record.epoch = fit_.epoch;
    record.training = fit_.sums;
    record.seconds = watch.seconds();
    record.steps = session_.step_count();
    record.dropped_windows = session_.dropped_windows();
    record.dropped_micro_batches = session_.dropped_micro_batches();
    if (options.validate) record.validation = averages_of(*options.validate);
    return record;
  }

  /// What says whether windows that were dropped will be dropped again.
  struct Standing {
    std::int64_t steps, dropped;
    double loss_scale;
  };
  Standing standing() const { return {session_.step_count(), session_.dropped_windows(), session_.loss_scale()}; }
  /// Errors: NonFiniteError where every window of an epoch was dropped and no smaller loss scale will help the next.
  [[gnu::cold]] void check_progress(const Standing& before, const EpochRecord& record) const {
    const Standing now = standing();
    if (now.steps > before.steps || now.dropped == before.dropped || now.loss_scale != before.loss_scale) return;
    throw NonFiniteError("fit: no step in epoch " + std::to_string(record.epoch) +
                         ": loss or gradient were not finite in all " + std::to_string(now.dropped - before.dropped) +
                         " windows, the last loss was " +
                         std::to_string(session_.last_window().loss()) +
                         "; first_non_finite<Net>(parameters, inputs...) names the op");
  }

  static void check_begun(const FitState<Real>& state, const Data& data) {
    if (state.done > 0 && state.samples != data.size())
      throw DataError("fit: epoch " + std::to_string(state.epoch) + " has begun on " + std::to_string(state.samples) +
                      " samples, now there are " + std::to_string(data.size()));
  }

  void run_epoch(const Data& data, std::span<std::int32_t> order, const FitOptions<Data>& options) {
    const Running<bool> inside(inside_epoch_, true);
    const auto epoch = static_cast<std::uint64_t>(fit_.epoch);
    fit_.samples = data.size();
    shuffle(order, session_.options().seed, epoch);
    while (fit_.done < fit_.samples && !stopped_) {
      const std::span<const std::int32_t> rest = order.subspan(static_cast<std::size_t>(fit_.done));
      const std::int64_t most =
          std::min(session_.options().micro_batch, session_.window() - session_.position());
      const auto rows = rest.first(std::min(static_cast<std::size_t>(most), rest.size()));
      const bool last = rows.size() == rest.size();
      const std::int64_t steps = session_.step_count(), before = fit_.done;
      data.apply(
          [&](auto... spans) { session_.accumulate_rows(rows, epoch, last && tail_ == Tail::step, fit_.done, spans...); });
      const std::int64_t taken = fit_.done - before;
      if (session_.again() && session_.position() == 0) fit_.done -= session_.window();
      if (fit_.done == fit_.samples && tail_ == Tail::drop) session_.discard();
      const bool stepped = session_.step_count() > steps;
      if (stepped) fit_.sums.add(session_.last_window());
      if (options.on_micro_batch) options.on_micro_batch(taken);
      if (stepped && options.on_step) options.on_step(session_.step_count(), session_.last_window());
    }
  }

  void end_epoch(const EpochRecord& record, const FitOptions<Data>& options) {
    if (options.patience > 0) {
      const double seen = options.monitor ? options.monitor(record) : record.validation.loss();
      const bool better = seen < fit_.best_loss - options.min_delta;
      if (better) {
        const auto parameters = session_.parameters();
        fit_.best.assign(parameters.values().begin(), parameters.values().end());
        fit_.best_loss = seen;
      }
      fit_.without_progress = better ? 0 : fit_.without_progress + 1;
    }
    ++fit_.epoch;
    fit_.done = 0;
    fit_.sums = Averages(metrics);
  }

  void forget_best() {
    fit_.best.clear();
    fit_.best_loss = std::numeric_limits<double>::infinity();
    fit_.without_progress = 0;
  }

  /// What is so while a call runs, however it ends.
  template <class T>
  struct Running {
    T& place;
    Running(T& where, T value) : place(where) { place = value; }
    Running(const Running&) = delete;
    ~Running() { place = T{}; }
  };

  static constexpr int metrics = Net::Training::count_of(Role::metric);
  const Data* running_ = nullptr;  // what a fit learns
  bool inside_epoch_ = false, stopped_ = false;
  Session session_;
  Tail tail_;
  FitState<Real> fit_;
};

}  // namespace gradual
