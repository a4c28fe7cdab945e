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

  /// Errors: MemoryError where one sample does not fit the budget; OptionError for a global batch that is not positive, and
  /// for windows of calls (`Accumulate::every`), which are a session's.
  Trainer(Net net, const Optimizer& optimizer, const TrainerOptions& options)
      : learner_(std::move(net), optimizer, detail::session_options(options)),
        loop_(Learner::metrics, options.tail, Learner::keeps_average, Learner::finds_non_finite) {
    if (calls_of(optimizer) != 0)
      throw OptionError("Trainer: windows of " + std::to_string(calls_of(optimizer)) +
                        " calls are a session's, a trainer's are counted in samples");
    if (evaluates_twice<RuleOf<Optimizer>> && options.tail == Tail::carry)
      throw OptionError("Trainer: the optimizer evaluates each window twice, so that none can be carried into the next epoch");
  }

  /// Runs `epochs` passes in an order, or of what is drawn, keyed by (seed, epoch); `tail` says what the last window of one
  /// becomes. An epoch that was interrupted, also in a run whose state was loaded, is the first of these: only its rest is
  /// learned.
  /// Errors: OptionError for negative epochs, a patience without data to validate on or a monitor, a monitor or a min_delta
  /// without patience, a validation of averages that no `Ema` keeps, or fewer samples than a window where its tail is
  /// dropped; DataError for labels outside the classes, values that are not finite, weights of `draw` for another number of
  /// samples or that a `WeightedDraw` refuses, all before anything is learned, or for another number of samples, or another
  /// `draw`, than an interrupted epoch has; OptionError inside a callback of this trainer; after an epoch NonFiniteError where
  /// its windows were all dropped, where patience ends by what is not finite, and, also within it where a window is dropped,
  /// where a parameter is no number; DataError where its weights, or those by which patience judges, were all 0, OptionError
  /// where `Tail::drop` left it no window; within one DataError for labels or indices that a callback has changed to others
  /// that there are not; MemoryError. What ends it between epochs forgets what patience has seen, else the rest of the epoch is
  /// the next fit's.
  History fit(const Data& data, const Options& options = {}) {
    Fitted net(learner_, data, options.validate ? &*options.validate : nullptr);
    return loop_.fit(net, detail::FitRequest(options));
  }

  /// Ends the fit that runs, from a callback, another thread or a handler of signals. After an epoch it ends as if no more had
  /// been asked for; within one, the rest of it is what the next fit learns first, also in a run that loads this one's state.
  void stop() { loop_.stop(); }
  /// Forgets the rest of an epoch that was interrupted, which then counts as one, the window that has begun and what patience
  /// has seen: the next fit begins an epoch, of any data. Errors: OptionError inside a fit.
  void discard_epoch() {
    loop_.require_no_fit("discard_epoch");
    session().discard();
    loop_.discard_epoch();
  }

  /// Weighted means of loss and metrics over a data set. Errors: DataError as `fit`; OptionError between the two evaluations of
  /// a window, when the parameters are elsewhere.
  Averages evaluate(const Data& data) {
    learner_.validate(data);
    return learner_.evaluate(data);
  }
  /// The same of the parameters' average that an `Ema` in the optimizer keeps; before the first step of the parameters.
  Averages evaluate_averaged(const Data& data) {
    static_assert(Learner::keeps_average, "evaluate_averaged: no Ema in the optimizer keeps an average");
    learner_.validate(data);
    Fitted net(learner_, data, &data);
    return loop_.evaluate_at_average(net);
  }

  /// The loss of each sample of a data set, or of each of its tokens, before it is weighted. Errors: as `evaluate`;
  /// MemoryError.
  std::vector<Real> losses(const Data& data) {
    learner_.validate(data);
    return learner_.losses(data);
  }

  /// What the model predicts of any number of samples, one after another: of a compiled net `predict(inputs...)`, of an eager
  /// one `predict(data, record)`, as those of the session say.
  template <class... Given>
  std::vector<Real> predict(const Given&... given) {
    return learner_.predict(given...);
  }

  /// Writes the parameters by name, beside what `file` holds already, as `save_parameters`. Errors: also OptionError between
  /// the two evaluations of a window, when the parameters are elsewhere.
  void save(const std::string& path, Checkpoint file = {}, DType type = dtype_of<Real>) const {
    session().check_in_place("save");
    or_memory_error("saving parameters", [&] {
      detail::add_parameters<Real>(file, learner_.declared(), learner_.values(), type);
      gradual::save(path, file);
    });
  }
  /// Reads parameters by name: all, or those that `pattern` names, as "encoder/*"; the optimizer's state stays. Errors:
  /// FileError, OptionError for a pattern that is no parameter's name; the parameters are then as they were.
  void load(const std::string& path, std::string_view pattern = every_name) {
    or_memory_error("loading parameters", [&] {
      std::vector<Real> loaded = learner_.values();
      detail::read_parameters<Real>(gradual::load(path), learner_.declared(), loaded, pattern);
      session().set_parameters(loaded);
    });
  }

  /// Saves everything that decides how training goes on: the session's state, the epoch and the place in it, the best
  /// parameters seen; beside it what `file` holds, such as notes, which `load_state` passes over. May be called from `on_epoch`,
  /// `on_step` and `on_micro_batch`; then loaded, the run ends in the same bits. Errors: as `gradual::save`; FileError for a
  /// name in `file` that the state has.
  void save_state(const std::string& path, const Checkpoint& file = {}) const {
    or_memory_error("saving a state", [&] {
      Checkpoint state = session().state();
      loop_.store(state);
      state.add(file);
      gradual::save(path, state);
    });
  }
  /// May be called from `on_epoch`. Errors: as `Session::load_state`; OptionError within an epoch; DataError within a fit to
  /// another number of samples, or with another `draw`, than the state's epoch has; nothing is changed then.
  void load_state(const std::string& path) {
    loop_.require_no_epoch();
    or_memory_error("loading a state", [&] {
      const Checkpoint file = gradual::load(path);
      auto state = loop_.read(file, Learner::known_metrics, learner_.elements());
      session().restore(file);
      loop_.go_on_from(std::move(state));
    });
  }
  /// As `Session::set_budget`, also from `on_micro_batch`, `on_step` and `on_epoch`.
  void set_budget(Budget budget)
    requires(Learner::is_planned)
  {
    session().set_budget(budget);
  }
  /// Epochs so far, complete or discarded.
  int epoch() const { return loop_.epoch(); }

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

  /// The net, as its loop sees it.
  class Fitted final : public detail::FittedNet<Real> {
   public:
    Fitted(Learner& learner, const Data& data, const Data* validated)
        : learner_(learner), data_(data), validated_(validated) {}
    Fitted(const Fitted&) = delete;
    Fitted& operator=(const Fitted&) = delete;
    /// Whatever ended the fit, a device may still read what lies in its memory.
    ~Fitted() {
      if constexpr (requires(const Session& s) { s.wait(); }) try {
          session().wait();
        } catch (const Error&) {  // the device is lost, which later calls say
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
      return {s.step_count(), s.position(), s.dropped_windows(), s.dropped_micro_batches(), s.loss_scale(), s.again(),
              s.waits_for_step()};
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
      of_validation([&] { result = learner_.evaluate(*validated_); });  // which is looked at now
      return result;
    }

   private:
    /// Errors say that they are of the data to validate on.
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
