#pragma once
#include <exception>
#include <limits>

#include <gradual/core/shuffle.hpp>
#include <gradual/train/compiled_learner.hpp>
#include <gradual/train/fit_options.hpp>
#include <gradual/train/fit_state.hpp>
#include <gradual/train/parameters_file.hpp>
#include <gradual/train/progress.hpp>

namespace gradual {

/// Trains a compiled net, or an `EagerNet`, on a data set: shuffling, micro-batches within a memory budget, validation,
/// progress.
template <class Net, class Optimizer>
class Trainer {
  using Learner = detail::LearnerOf<Net, Optimizer>;
  using Data = typename Learner::Data;
  using Real = typename Learner::Real;

 public:
  using Session = typename Learner::Session;
  using Options = FitOptions<Data>;  ///< of `fit`

  /// Errors: MemoryError where one sample does not fit the budget; OptionError for a global batch that is not positive, and
  /// for windows of calls (`Accumulate::every`), which are a session's.
  [[gnu::cold]] Trainer(Net net, const Optimizer& optimizer, const TrainerOptions& options)
      : learner_(std::move(net), optimizer, detail::session_options(options)), tail_(options.tail) {
    if (calls_of(optimizer) != 0)
      throw OptionError("Trainer: windows of " + std::to_string(calls_of(optimizer)) +
                        " calls are a session's, a trainer's are counted in samples");
    if (evaluates_twice<RuleOf<Optimizer>> && tail_ == Tail::carry)
      throw OptionError("Trainer: the optimizer evaluates each window twice, so that none can be carried into the next epoch");
    fit_.sums = Averages(Learner::metrics);
  }

  /// Runs `epochs` passes in an order keyed by (seed, epoch); `tail` says what the last window of one becomes. An epoch
  /// that was interrupted, also in a run whose state was loaded, is the first of these: only its rest is learned.
  /// Errors: OptionError for negative epochs, a patience without data to validate on or a monitor, a monitor or a min_delta
  /// without patience, a validation of averages that no `Ema` keeps, or fewer samples than a window where its tail is dropped;
  /// DataError for labels outside the classes or values that are not finite, all before anything is learned, or for another
  /// number of samples than an interrupted epoch has; OptionError inside a callback of this trainer; after an epoch
  /// NonFiniteError where its windows were all dropped or a parameter is no number, DataError where its weights were all 0;
  /// within one DataError for labels or indices that a callback has changed to others that there are not; MemoryError.
  [[gnu::cold]] History fit(const Data& data, const Options& options = {}) {
    if (running_ != nullptr) throw OptionError("fit: this trainer is inside a fit");
    const Running<const Data*> running(running_, &data);  // clang 14 does not deduce it
    return or_memory_error("fit", [&] { return run_epochs(data, options); });
  }

  /// Ends the fit that calls this from a callback. After an epoch it ends as if no more had been asked for; within one, the
  /// rest of it is what the next fit learns first, also in a run that loads this one's state.
  void stop() { stopped_ = true; }

  /// Weighted means of loss and metrics over a data set. Errors: DataError as `fit`; OptionError between the two evaluations of
  /// a window, when the parameters are elsewhere.
  Averages evaluate(const Data& data) {
    learner_.validate(data);
    return learner_.evaluate(data);
  }
  /// The same of the parameters' average that an `Ema` in the optimizer keeps; before the first step of the parameters.
  Averages evaluate_averaged(const Data& data)
    requires(Learner::keeps_average)
  {
    learner_.validate(data);
    return evaluate_at_average(data);
  }

  /// Writes the parameters by name, beside what `file` holds already. Errors: as `gradual::save`; OptionError between the two
  /// evaluations of a window, when the parameters are elsewhere.
  [[gnu::cold]] void save(const std::string& path, Checkpoint file = {}) const {
    if (session().again()) throw OptionError("save: the parameters are elsewhere until the window is given again");
    or_memory_error("saving parameters", [&] {
      detail::add_parameters<Real>(file, learner_.declared(), learner_.values());
      gradual::save(path, file);
    });
  }
  /// Reads parameters by name: all, or those that `pattern` names, as "encoder/*"; the optimizer's state stays. Errors:
  /// FileError, OptionError for a pattern that is no parameter's name; the parameters are then as they were.
  [[gnu::cold]] void load(const std::string& path, std::string_view pattern = every_name) {
    or_memory_error("loading parameters", [&] {
      std::vector<Real> loaded = learner_.values();
      detail::read_parameters<Real>(gradual::load(path), learner_.declared(), loaded, pattern);
      session().set_parameters(loaded);
    });
  }

  /// Saves everything that decides how training goes on: the session's state, the epoch and the place in it, the best
  /// parameters seen. May be called from `on_epoch`, `on_step` and `on_micro_batch`; then loaded, the run ends in the
  /// same bits.
  /// Errors: as `gradual::save`.
  [[gnu::cold]] void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] {
      Checkpoint file = session().state();
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
      auto state = detail::in_file(
          file, [&] { return FitState<Real>::from(file, Learner::known_metrics, learner_.elements()); });
      if (running_ != nullptr) check_begun(state, *running_);
      session().restore(file);
      fit_ = std::move(state);
    });
  }
  /// As `Session::set_budget`, also from `on_micro_batch`, `on_step` and `on_epoch`.
  void set_budget(Budget budget)
    requires(Learner::is_planned)
  {
    session().set_budget(budget);
  }
  /// Complete epochs so far.
  int epoch() const { return fit_.epoch; }

  /// Of a compiled net; an eager net's device tells `live_bytes`.
  const MemoryTable& memory() const
    requires(Learner::is_planned)
  {
    return session().memory();
  }
  decltype(auto) parameters() const { return session().parameters(); }
  /// As those of the session: `record.validation.metric(trainer.metric("accuracy"))`. Of an eager net, what it recorded last.
  int metric(std::string_view name) const { return session().metric(name); }
  std::span<const Name> metric_names() const { return session().metric_names(); }
  Session& session() { return learner_.session(); }

 private:
  const Session& session() const { return learner_.session(); }

  static void check(const Options& options) {
    if (options.epochs < 0) throw OptionError("fit: " + std::to_string(options.epochs) + " epochs");
    if (options.patience < 0) throw OptionError("fit: a patience of " + std::to_string(options.patience) + " epochs");
    if (!(options.min_delta >= 0)) throw OptionError("fit: a min_delta of " + std::to_string(options.min_delta));
    if (options.patience == 0 && (options.monitor || options.min_delta > 0))
      throw OptionError("fit: a monitor or a min_delta without a patience, whose epochs they judge");
    if (options.patience > 0 && !options.validate && !options.monitor)
      throw OptionError("fit: a patience of " + std::to_string(options.patience) +
                        " epochs needs data to validate on, or a monitor");
    if (options.validate_averaged && !(Learner::keeps_average && options.validate))
      throw OptionError("fit: .validate_averaged needs an Ema in the optimizer, and data to validate on");
  }

  [[gnu::cold]] void check_validation(const Data& data) const {
    try {
      learner_.validate(data);
    } catch (const DataError& error) {
      throw DataError(std::string("validation data: ") + error.what());
    }
  }

  /// Errors: DataError, OptionError, before anything is changed.
  [[gnu::cold]] void check(const Data& data, const Options& options) const {
    learner_.validate(data);
    if (data.size() > std::numeric_limits<std::int32_t>::max())
      throw DataError("fit: a data set of " + std::to_string(data.size()) +
                      " samples is too large for one order: train on subsets of it");
    if (options.validate) check_validation(*options.validate);
    check_begun(fit_, data);
    if (tail_ == Tail::drop && data.size() < session().window() && !detail::windows_vary(session().options()))
      throw OptionError("fit: Tail::drop would drop all of " + std::to_string(data.size()) + " samples, a window has " +
                        std::to_string(session().window()));
  }

  [[gnu::cold]] History run_epochs(const Data& data, const Options& options) {
    check(options);
    check(data, options);
    ProgressLine line(options.progress, fit_.epoch, options.epochs);
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
      EpochRecord& record = history.emplace_back(record_epoch(watch, options));
      end_epoch(record, options);
      const double speed = static_cast<double>(data.size() - already) / record.seconds;
      line.show(i + 1, record, session().metric_names(), speed);
      check_parameters(record.epoch, [&] { end_patience(line, options); });
      const std::exception_ptr hopeless = already == 0 ? no_progress(before, record) : nullptr;
      if (options.on_epoch) options.on_epoch(record);
      if (hopeless == nullptr || fit_.epoch != record.epoch + 1) continue;  // or the state of another epoch was loaded
      end_patience(line, options);
      std::rethrow_exception(hopeless);
    }
    end_patience(line, options);
    return history;
  }
  void end_patience(ProgressLine& line, const Options& options) {
    if (options.patience > 0 && !fit_.best.empty()) {
      session().discard();  // what Tail::carry left is of other parameters
      session().set_parameters(fit_.best);
      if (fit_.without_progress > 0) line.restored(fit_.epoch - fit_.without_progress);
    }
    forget_best();
  }
  EpochRecord record_epoch(const Stopwatch& watch, const Options& options) {
    EpochRecord record;
    record.epoch = fit_.epoch;
    record.training = fit_.sums;
    record.seconds = watch.seconds();
    record.steps = session().step_count();
    record.dropped_windows = session().dropped_windows();
    record.dropped_micro_batches = session().dropped_micro_batches();
    if (const auto& data = options.validate)
      record.validation = options.validate_averaged ? evaluate_at_average(*data) : learner_.evaluate(*data);
    return record;
  }

  /// The average of the parameters; before the first step, and where none is kept, the parameters.
  std::vector<Real> averaged() const {
    if constexpr (Learner::keeps_average)
      if (session().step_count() > 0) return learner_.averaged_values();
    return learner_.values();
  }
  /// Puts the parameters back, however it ends.
  Averages evaluate_at_average(const Data& data) {
    const std::vector<Real> parameters = learner_.values();
    session().set_parameters(averaged());
    try {
      const Averages result = learner_.evaluate(data);
      session().set_parameters(parameters);
      return result;
    } catch (...) {
      session().set_parameters(parameters);
      throw;
    }
  }

  /// What says whether windows that were dropped will be dropped again.
  struct Standing {
    std::int64_t steps, dropped;
    double loss_scale;
  };
  Standing standing() const { return {session().step_count(), session().dropped_windows(), session().loss_scale()}; }
  /// A NonFiniteError where every window of an epoch was dropped and no smaller loss scale will help the next, a DataError
  /// where all had a weight of 0; null for others.
  [[gnu::cold]] std::exception_ptr no_progress(const Standing& before, const EpochRecord& record) const {
    const Standing now = standing();
    const Averages& last = session().last_window();
    if (now.steps == before.steps && now.dropped == before.dropped && last.count() > 0 && last.weight() == 0)
      return std::make_exception_ptr(
          DataError("fit: no step in epoch " + std::to_string(record.epoch + 1) + ": the weights of its samples are 0"));
    if (now.steps > before.steps || now.dropped == before.dropped || now.loss_scale != before.loss_scale) return nullptr;
    return std::make_exception_ptr(
        NonFiniteError("fit: no step in epoch " + std::to_string(record.epoch + 1) +
                       ": loss or gradient were not finite in all " + std::to_string(now.dropped - before.dropped) +
                       " windows, the last loss was " + std::to_string(last.loss()) + Learner::finds_non_finite));
  }

  /// Calls leave() before it throws. Errors: NonFiniteError where a parameter is not a number.
  template <class F>
  [[gnu::cold]] void check_parameters(int epoch, F leave) const {
    const std::vector<Real> values = learner_.values();
    if (math::all_finite(std::span<const Real>(values))) return;
    auto value = values.begin();
    for (const ParameterInfo& info : learner_.declared())
      for (std::int64_t i = 0; i < info.shape.unit(); ++i, ++value)
        if (*value != *value) {
          leave();
          throw NonFiniteError("fit: element " + std::to_string(i) + " of parameter '" + info.name.string() +
                               "' is not a number after epoch " + std::to_string(epoch + 1));
        }
  }

  static void check_begun(const FitState<Real>& state, const Data& data) {
    if (state.done > 0 && state.samples != data.size())
      throw DataError("fit: epoch " + std::to_string(state.epoch + 1) + " has begun on " + std::to_string(state.samples) +
                      " samples, now there are " + std::to_string(data.size()));
  }

  void run_epoch(const Data& data, std::span<std::int32_t> order, const Options& options) {
    const Running<bool> inside(inside_epoch_, true);
    const auto epoch = static_cast<std::uint64_t>(fit_.epoch);
    fit_.samples = data.size();
    shuffle(order, session().options().seed, epoch);
    while ((fit_.done < fit_.samples || session().waits_for_step()) && !stopped_) {
      const std::span<const std::int32_t> rest = order.subspan(static_cast<std::size_t>(fit_.done));
      const std::int64_t most =
          std::min(session().options().micro_batch, session().window() - session().position());
      const auto rows = rest.first(std::min(static_cast<std::size_t>(most), rest.size()));
      const bool last = rows.size() == rest.size();
      const std::int64_t steps = session().step_count(), before = fit_.done;
      learner_.learn(data, rows, epoch, last && tail_ == Tail::step, fit_.done);
      const std::int64_t taken = fit_.done - before;
      if (session().again() && session().position() == 0) fit_.done -= session().window();
      if (fit_.done == fit_.samples && tail_ == Tail::drop) session().discard();
      const bool stepped = session().step_count() > steps;
      if (stepped) add_to_epoch(session().last_window());
      if (options.on_micro_batch) options.on_micro_batch(taken);
      if (stepped && options.on_step) options.on_step(session().step_count(), session().last_window());
    }
  }

  /// How many metrics there are is known with the first window.
  void add_to_epoch(const Averages& window) {
    if (fit_.sums.count() == 0) fit_.sums = window;
    else fit_.sums.add(window);
  }

  void end_epoch(EpochRecord& record, const Options& options) {
    if (options.patience > 0) {
      const double seen = options.monitor ? options.monitor(record) : record.validation.loss();
      record.improved = seen < fit_.best_loss - options.min_delta;
      if (record.improved) {
        fit_.best = options.validate_averaged ? averaged() : learner_.values();
        fit_.best_loss = seen;
      }
      fit_.without_progress = record.improved ? 0 : fit_.without_progress + 1;
    }
    ++fit_.epoch;
    fit_.done = 0;
    fit_.sums = Averages(Learner::metrics);
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

  const Data* running_ = nullptr;  // what a fit learns
  bool inside_epoch_ = false, stopped_ = false;
  Learner learner_;
  Tail tail_;
  FitState<Real> fit_;
};

}  // namespace gradual
