#pragma once
#include <gradual/train/compiled_learner.hpp>
#include <gradual/train/fit_loop.hpp>
#include <gradual/train/parameters_file.hpp>

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

  /// Errors: MemoryError where not even one sample fits the budget; OptionError for a global batch that is not positive, or for
  /// windows counted in calls (`Accumulate::every`), which only sessions have.
  Trainer(Net net, const Optimizer& optimizer, const TrainerOptions& options)
      : learner_(std::move(net), optimizer, detail::session_options(options)),
        loop_(Learner::metrics, options.tail, Learner::keeps_average, Learner::finds_non_finite) {
    detail::check_trainer_windows(calls_of(optimizer), evaluates_twice<RuleOf<Optimizer>>, options.tail);
  }

  /// Runs `epochs` passes over the samples, in an order or with draws keyed by (seed, epoch); `tail` decides what becomes of
  /// the last window of each. An interrupted epoch, even one from a loaded state, counts as the first of these: only its rest
  /// is learned.
  /// Errors, before anything is learned: OptionError for negative epochs, a patience with neither validation data nor a
  /// monitor, a monitor or a min_delta without patience, a validation of averages that no `Ema` keeps, fewer samples than a
  /// window where its tail is dropped, or a call from a callback of this trainer; DataError for labels outside the classes,
  /// values that are not finite, weights of `draw` for another number of samples or that a `WeightedDraw` refuses, and for
  /// another number of samples or another `draw` than an interrupted epoch has.
  /// After an epoch: NonFiniteError where all its windows were dropped, patience ends on a value that is not finite or a
  /// parameter is NaN (also checked within it, where a window is dropped); DataError where all its weights, or those by which
  /// patience judges, were 0; OptionError where `Tail::drop` left it no window. Within one: DataError for labels or indices
  /// that a callback has made invalid; MemoryError. An error between epochs forgets what patience has seen; after any other the
  /// next fit learns the rest of the epoch.
  History fit(const Data& data, const Options& options = {}) {
    Fitted net(learner_, data, options.validate ? &*options.validate : nullptr);
    return loop_.fit(net, detail::FitRequest(options));
  }

  /// Ends the running fit, from a callback, another thread or a signal handler. After an epoch, it ends as if no more had been
  /// requested; within one, the next fit learns the rest of it first, even in a run that loads this one's state.
  void stop() { loop_.stop(); }
  /// Forgets the rest of an interrupted epoch, which then counts as complete, the window that has begun and what patience has
  /// seen: the next fit begins a new epoch, on any data. Errors: OptionError inside a fit.
  void discard_epoch() {
    loop_.require_no_fit("discard_epoch");
    session().discard();
    loop_.discard_epoch();
  }

  /// Returns the weighted means of loss and metrics over a data set. Errors: DataError as `fit`; OptionError between the two
  /// evaluations of a window, when the parameters are elsewhere.
  Averages evaluate(const Data& data) {
    learner_.validate(data);
    return learner_.evaluate(data);
  }
  /// Does the same with the parameters' average kept by an `Ema` in the optimizer; before the first step, with the parameters.
  Averages evaluate_averaged(const Data& data) {
    static_assert(Learner::keeps_average, "evaluate_averaged: the optimizer has no Ema to keep an average");
    learner_.validate(data);
    Fitted net(learner_, data, &data);
    return loop_.evaluate_at_average(net);
  }

  /// Returns the unweighted loss of each sample of a data set, or of each of its tokens. Errors: as `evaluate`; MemoryError.
  std::vector<Real> losses(const Data& data) {
    learner_.validate(data);
    return learner_.losses(data);
  }

  /// Returns the model's predictions for any number of samples, one after another: `predict(inputs...)` of a compiled net,
  /// `predict(data, record)` of an eager one, each as the session documents it.
  template <class... Given>
  std::vector<Real> predict(const Given&... given) {
    return learner_.predict(given...);
  }

  /// Writes the parameters by name, in addition to what `file` holds, as `save_parameters`. Errors: also OptionError between
  /// the two evaluations of a window, when the parameters are elsewhere.
  void save(const std::string& path, Checkpoint file = {}, DType type = dtype_of<Real>) const {
    session().check_in_place("save");
    or_memory_error("saving parameters", [&] { save_parameters(path, session().parameters(), std::move(file), type); });
  }
  /// Reads parameters by name: all, or those that match `pattern`, such as "encoder/*"; keeps the optimizer's state. Errors:
  /// FileError, OptionError for a pattern that matches no parameter's name; the parameters are then unchanged.
  void load(const std::string& path, std::string_view pattern = every_name) {
    or_memory_error("loading parameters", [&] {
      std::vector<Real> loaded = learner_.values();
      detail::read_parameters<Real>(gradual::load(path), learner_.declared(), loaded, pattern);
      session().set_parameters(loaded);
    });
  }

  /// Saves everything that decides how training continues: the session's state, the epoch and the position in it, and the best
  /// parameters seen; in addition, what `file` holds, such as notes, which `load_state` ignores. May be called from `on_epoch`,
  /// `on_step` and `on_micro_batch`; a run that loads it ends in the same bits. Errors: as `gradual::save`; FileError for a
  /// name in `file` that the state uses; OptionError where a refused rate has ended the fit, until the next one makes the step.
  void save_state(const std::string& path, const Checkpoint& file = {}) const {
    or_memory_error("saving a state", [&] {
      Checkpoint state = session().state();
      loop_.store(state);
      state.add(file);
      gradual::save(path, state);
    });
  }
  /// Loads such a state; may be called from `on_epoch`. Errors: as `Session::load_state`; OptionError within an epoch;
  /// DataError within a fit to another number of samples, or another `draw`, than the state's epoch. Nothing is changed then.
  void load_state(const std::string& path) {
    loop_.require_no_epoch();
    or_memory_error("loading a state", [&] {
      const Checkpoint file = gradual::load(path);
      auto state = loop_.read(file, Learner::known_metrics, learner_.elements());
      session().restore(file);
      loop_.go_on_from(std::move(state));
    });
  }
  /// As `Session::set_budget`; may be called from `on_micro_batch`, `on_step` and `on_epoch`.
  void set_budget(Budget budget)
    requires(Learner::is_planned)
  {
    session().set_budget(budget);
  }
  /// Returns the number of epochs so far, complete or discarded.
  int epoch() const { return loop_.epoch(); }

  /// Returns the plan of a compiled net; for an eager net ask its device for `live_bytes`.
  const MemoryTable& memory() const
    requires(Learner::is_planned)
  {
    return session().memory();
  }
  decltype(auto) parameters() const { return session().parameters(); }
  /// As those of the session: `record.validation.metric(trainer.metric("accuracy"))`. For an eager net, those it recorded last.
  int metric(std::string_view name) const { return session().metric(name); }
  std::span<const Name> metric_names() const { return session().metric_names(); }
  Session& session() { return learner_.session(); }

 private:
  const Session& session() const { return learner_.session(); }

  /// The net as its fit loop sees it.
  class Fitted final : public detail::FittedNet<Real> {
   public:
    Fitted(Learner& learner, const Data& data, const Data* validated)
        : learner_(learner), data_(data), validated_(validated) {}
    Fitted(const Fitted&) = delete;
    Fitted& operator=(const Fitted&) = delete;
    /// Waits: however the fit ended, a device may still be reading data in its own memory.
    ~Fitted() {
      if constexpr (requires(const Session& s) { s.wait(); }) try {
          session().wait();
        } catch (const Error&) {  // the device is lost, which later calls report
        }
    }

    void check_data() const override {
      learner_.validate(data_);
      if (validated_ != nullptr) of_validation([&] { learner_.validate(*validated_); });
    }
    std::int64_t samples() const override { return data_.size(); }
    const SessionOptions& options() const override { return session().options(); }
    detail::SessionStanding standing() const override {
      const Session& s = session();
      return {s.step_count(), s.position(), s.samples_given(), s.dropped_windows(), s.dropped_micro_batches(), s.loss_scale(),
              s.again(), s.waits_for_step()};
    }
    std::int64_t window() const override { return session().window(); }
    const Averages& last_window() const override { return session().last_window(); }
    std::span<const Name> metric_names() const override { return session().metric_names(); }
    std::span<const ParameterInfo> declared() const override { return learner_.declared(); }
    std::vector<Real> values() const override { return learner_.values(); }
    std::vector<Real> averaged() const override {
      if constexpr (Learner::keeps_average) return learner_.averaged_values();
      else return learner_.values();
    }
    void set_parameters(std::span<const Real> values) override { learner_.session().set_parameters(values); }
    void learn(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& done) override {
      learner_.learn(data_, rows, epoch, last, done);
    }
    void discard() override { learner_.session().discard(); }
    Averages evaluate() override {
      if (!validated_->is_made() || validated_ == &data_) return learner_.evaluate(*validated_);
      Averages result;
      of_validation([&] { result = learner_.evaluate(*validated_); });  // validated as they are made
      return result;
    }

   private:
    /// Makes errors say that they concern the validation data.
    template <class F>
    static void of_validation(F f) {
      try {
        f();
      } catch (const DataError& error) {
        throw DataError(std::string("validation data: ") + error.what());
      }
    }
    const Session& session() const { return learner_.session(); }

    Learner& learner_;
    const Data& data_;
    const Data* validated_;
  };

  Learner learner_;
  detail::FitLoop<Real> loop_;
};

}  // namespace gradual
