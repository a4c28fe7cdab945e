#pragma once
#include <bit>
#include <cstdint>
#include <span>

#include <gradual/core/set_while.hpp>
#include <gradual/train/eager_core.hpp>
#include <gradual/train/eager_state.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

/// One model being trained whose sizes, or even whose computation, are known only at run time: it is recorded anew, op by op,
/// for each part of a batch. The rules and bits of a window are those of a compiled session. `open_blocks` has no effect: open
/// blocks are kept where they are needed.
template <class Real, class Optimizer>
class Session<ParametersIn<Real>, Optimizer, Inputs<>>
    : public detail::SessionBase<Session<ParametersIn<Real>, Optimizer, Inputs<>>> {
  using Rule = RuleOf<Optimizer>;
  using State = detail::EagerState<Real, Optimizer>;
  using Base = detail::SessionBase<Session>;
  friend Base;
  static_assert(std::is_same_v<ShadowOf<Optimizer>, float> || std::is_same_v<ShadowOf<Optimizer>, Real>,
                "an eager session's sums are held in float, or in double where its parameters are");

 public:
  /// Gives the parameters their initial values, by the options' seed, unless they already have values. They must outlive the
  /// session. Errors: OptionError for sizes or threads that are not positive, and for a name in `freeze` that no parameter has;
  /// MemoryError; TapeError for parameters declared after others had been given values.
  Session(ParametersIn<Real>& parameters, const Optimizer& optimizer, const SessionOptions& options)
  try : core_(parameters, optimizer, options) {
  } catch (const std::bad_alloc&) {
    throw MemoryError("a session: the system refused memory");
  }

  /// Adds the gradients of `samples` samples to the window and steps whenever it is full. `record(tape)` records the loss of
  /// one part: `tape.input` takes the values of all samples and picks those of the part. It is called once per part: the whole
  /// batch, cut into `micro_batch` samples and at the window's end; and once more where a part's weights fill the window before
  /// its end, or where memory does not suffice for a part: then for smaller ones, down to one sample, with the same bits.
  /// Returns the number of steps made.
  /// Errors, before anything of the part is added: those of `record`, TapeError for a loss with no derivative by any parameter,
  /// DataError for labels outside the classes and values that are not finite, MemoryError where no smaller part may be tried;
  /// OptionError for a batch that runs on into the next window where the optimizer evaluates each window twice; TapeError
  /// inside `record`, as from every function here that ends or changes a window. A GPU that fails while a part is added
  /// (DeviceError) ends the window, of which nothing is kept, except for the earlier parts where there is a copy of their sums
  /// (NonFinite).
  template <class Record>
  int accumulate(std::int64_t samples, Record record) {
    check_idle("accumulate");
    check_samples(samples);
    progress().check_room(samples);
    int steps = 0;
    if (waits_for_step()) {
      steps = core_.step();
      progress().check_room(samples);  // a window that is dropped is followed by another than one that makes its step
    }
    std::int64_t most = options().micro_batch;
    for (std::int64_t done = 0; done < samples;) {
      const std::int64_t part = progress().next_part(samples - done, most);
      const Part of{.first = done, .samples = part, .given = samples, .last = fills_window(part),
                    .round = static_cast<std::uint64_t>(step_count())};
      const std::int64_t taken = part_or_none("accumulate", part, may_shrink(), most, [&] { return add_part(of, record); });
      done += taken;
      if (taken > 0 && core_.progress().ends_here(done == samples)) steps += core_.step();
    }
    return steps;
  }

  /// Does the same with samples `rows` of a data set, whose values `record` supplies in that order, until a window is full;
  /// `last` ends the window with them; makes only the step if one is waited for. Random numbers are keyed by epoch and place in
  /// the data set. Adds the number of samples taken to `taken`, even if the step that follows throws. Errors: as `accumulate`;
  /// OptionError for windows of calls.
  template <class Record>
  void accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                       Record record) {
    check_idle("accumulate_rows");
    if (progress().ends().calls() != 0) throw OptionError("accumulate_rows: needs windows that are counted in samples");
    if (waits_for_step()) {
      core_.step();
      return;
    }
    const std::int64_t samples = std::ssize(rows);
    check_samples(samples);
    std::int64_t most = options().micro_batch, done = 0;
    for (bool ended = false; done < samples && !ended;) {
      const std::int64_t part = progress().next_part(samples - done, most);
      const Part of{.first = done, .samples = part, .given = samples,
                    .last = fills_window(part) || (last && done + part == samples), .round = epoch, .rows = rows};
      const std::int64_t added =
          part_or_none("accumulate_rows", part, may_shrink(), most, [&] { return add_part(of, record); });
      done += added, taken += added;
      ended = progress().full() || (last && done == samples);
      if (!ended) continue;
      core_.progress().begin_step();  // on error the window waits, also one that is not full
      core_.step();
    }
  }

  /// Steps on what an unfinished window holds. Returns the number of steps made, 0 or 1. Errors: MemoryError; TapeError where
  /// the window was restored and one of its parts' computations has not been recorded since.
  int flush() {
    check_idle("flush");
    return !progress().has_begun() && !again() ? 0 : core_.step();
  }
  using Base::again, Base::position, Base::step_count, Base::waits_for_step;

  /// Forgets the window that has begun.
  void discard() {
    check_idle("discard");
    core_.discard();
  }

  /// Returns the weighted means of the loss and metrics that `record` records, without learning from them. Parts and errors are
  /// as in `accumulate`; also DataError for a total weight that a window could not have.
  template <class Record>
  Averages evaluate(std::int64_t samples, Record record) {
    check_samples(samples);
    Averages result;
    each_loss("evaluate", samples, record, [&](const detail::EagerLosses<Real>& losses, std::int64_t first) {
      result = detail::with_losses(result, losses, first == 0);
    });
    progress().check_evaluated(result);
    return result;
  }
  /// Returns the unweighted loss that `record` records of each sample, or of each of its tokens, without learning from it.
  /// Parts and errors are as in `accumulate`.
  template <class Record>
  std::vector<Real> losses(std::int64_t samples, Record record) {
    std::vector<Real> result;
    each_loss("losses", samples, record, [&](const detail::EagerLosses<Real>& losses, std::int64_t) {
      result.insert(result.end(), losses.values[0], losses.values[0] + losses.count);
    });
    return result;
  }

  /// Returns the value that `record(tape)` computes for these samples, possibly none, with samples as its first axis, row after
  /// row; nothing is learned. Parts and errors are as in `accumulate`; also TypeError for a value that is not in the
  /// parameters' type.
  template <class Record>
  std::vector<Real> predict(std::int64_t samples, Record record) {
    std::vector<Real> result;
    each_part("predict", samples, false, [&](EagerTape& tape, std::int64_t first) {
      const Var prediction = noted(tape, [&] {
        const Var made = recorded(tape, record);
        if (detail::given("predict", {made})) record_prediction(tape, made);
        return made;
      });
      detail::check_no_sums(tape, "predict: a value that");
      detail::validate(tape, first);
      tape.values().finish_recording(tape);
      const auto* values = static_cast<const Real*>(tape.values().on_host(tape, prediction.id));
      result.insert(result.end(), values, values + prediction.shape().elements(tape.batch()));
    });
    return result;
  }

  /// Returns everything that training changes, even inside a window: a session that restores it goes on to the same bits.
  /// Between windows a compiled session of the same parameters and optimizer can restore it, and vice versa. Errors:
  /// OptionError where a window's step has failed.
  Checkpoint state() const {
    progress().check_can_be_saved();
    return or_memory_error("the state of a session", [&] { return State::read(core_); });
  }
  /// A window that had begun can end only once each of its earlier parts' computations has been recorded again. Errors:
  /// FileError for a state of other parameters, another optimizer, block length or reduction, naming it, or of a window begun
  /// by a compiled session or with other frozen names; OptionError for a window that does not fit this session's. Nothing is
  /// changed then.
  void restore(const Checkpoint& state) {
    check_idle("restore");
    or_memory_error("restoring a session", [&] { detail::in_file(state, [&] { State::write(core_, state); }); });
  }

  /// Returns the parameters given at construction. Errors: OptionError between a window's two evaluations: they are elsewhere.
  ParametersIn<Real>& parameters() const {
    progress().check_in_place("parameters");
    return core_.arrays().parameters();
  }
  /// As those of a compiled session.
  void set_parameters(std::span<const Real> values) {
    check_idle("set_parameters");
    if (std::ssize(values) != core_.arrays().elements())
      detail::refuse_parameters("set_parameters", core_.arrays().elements(), values.size());
    progress().check_in_place("set_parameters", ": discard it first");
    parameters().copy_from(values);
    core_.sums().derive_again();
  }
  template <class Others>
  void set_parameters(const Others& others, std::string_view pattern) {
    check_idle("set_parameters");
    or_memory_error("set_parameters", [&] {
      std::vector<Real> changed(static_cast<std::size_t>(core_.arrays().elements()));
      parameters().copy_to(changed);
      detail::copy_named(parameters().declared(), std::span(changed), others, pattern);
      set_parameters(changed);
    });
  }
  /// Return arrays for the host to read; of arrays on a GPU these are copies, each valid until the next call for it.
  std::span<const std::byte> parameter_bytes() const { return std::as_bytes(core_.arrays().on_host(0)); }
  /// Returns state `index` of the optimizer, one parameter after another. Errors: OptionError for one that it does not have, as
  /// an opaque one has none.
  std::span<const Real> optimizer_state(int index) const {
    if (index < 0 || index >= State::states) detail::refuse_state(index, State::states);
    return core_.arrays().on_host(2 + index);
  }
  /// Returns the parameters' average kept by an `Ema` in the optimizer, one parameter after another; before the first step the
  /// parameters. Errors: OptionError between the two evaluations of a window.
  std::span<const Real> averaged_parameters() const {
    static_assert(average_state<Rule> >= 0, "averaged_parameters: the optimizer has no Ema to keep an average");
    progress().check_in_place("averaged_parameters");
    return step_count() == 0 ? core_.arrays().on_host(0) : optimizer_state(average_state<Rule>);
  }
  /// Returns the session's own copy of an opaque optimizer, or the one that it refers to.
  template <bool Has = detail::OpaqueOf<Optimizer, Real>::exists>  // as for a compiled session
    requires Has
  auto& optimizer() {
    return core_.opaque().optimizer();
  }
  /// Returns the summed gradients of the last window stepped on, one parameter after another, times the loss scale.
  std::span<const Real> last_gradient() const { return core_.arrays().on_host(1); }
  /// As those of a compiled session, for the loss that was recorded last.
  int metric(std::string_view name) const { return metric_names_.at(name); }
  std::span<const Name> metric_names() const { return metric_names_.all(); }
  const SessionOptions& options() const { return core_.options(); }

 private:
  const Device& device() const { return core_.arrays().device(); }
  const detail::WindowProgress& progress() const { return core_.progress(); }

  void check_idle(const char* call) const {
    core_.arrays().require();
    if (recording_) throw TapeError(std::string(call) + ": the session is recording a part");
  }
  static void check_samples(std::int64_t samples, std::int64_t least = 1) {
    if (samples < least) throw DataError("a batch of " + std::to_string(samples) + " samples");
  }
  /// Returns the result of run(), or 0 where memory does not suffice for a part of this size, setting `most` to a smaller one.
  template <class F>
  std::int64_t part_or_none(const char* what, std::int64_t part, bool may_shrink, std::int64_t& most, F run) {
    try {
      return or_memory_error(what, run);
    } catch (const MemoryError&) {
      core_.sums().forget_part();
      if (part == 1 || !may_shrink) throw;
      most = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(part - 1)));  // so that it can end on blocks
      return 0;
    }
  }

  /// Calls f(tape, first sample) for parts that are not learned from. `draws`: with noise and masks.
  template <class F>
  void each_part(const char* call, std::int64_t samples, bool draws, F f) {
    check_idle(call);
    check_samples(samples, 0);
    progress().check_in_place(call);
    std::int64_t most = options().micro_batch;
    for (std::int64_t done = 0; done < samples;) {
      const std::int64_t part = std::min(most, samples - done);
      done += part_or_none(call, part, true, most, [&] {
        EagerTape& tape = core_.sums().next_tape(done, part, samples, false);
        tape.training = draws;
        tape.values().bind_random(Randomness{.seed = options().seed}.of_evaluation(done));
        f(tape, done);
        tape.forget();
        return part;
      });
    }
  }
  /// Calls f(losses, first sample) for such parts.
  template <class Record, class F>
  void each_loss(const char* call, std::int64_t samples, Record& record, F f) {
    each_part(call, samples, options().evaluate_drawing, [&](EagerTape& tape, std::int64_t first) {
      noted(tape, [&] { detail::record_loss_of(tape, recorded(tape, record)); });
      detail::check_no_sums(tape, std::string(call) + ": a loss that");
      detail::validate(tape, first);
      tape.values().finish_recording(tape);
      f(detail::losses_of<Real>(tape), first);
    });
  }

  /// Returns the result of f, whose ops run once all of them are known, except those whose values are read earlier.
  template <class F>
  static auto noted(EagerTape& tape, F f) {
    const detail::NotingTape noting(&tape.values());
    return f();
  }

  /// Returns what `record` records of a part: a loss, or a prediction. Errors: TapeError for a model with a `Scalar`.
  template <class Record>
  auto recorded(EagerTape& tape, Record& record) {
    const SetWhile<bool> recording(recording_, true);
    const auto made = as_given(record(tape));
    detail::check_no_scalars(tape);
    if constexpr (std::is_same_v<decltype(made), const Loss>) metric_names_ = MetricNames(made);
    return made;
  }

  /// Returns the number of samples of the recorded part until the window's weight is reached.
  std::int64_t samples_until_full(EagerTape& tape, const Loss& loss, std::int64_t part) const {
    if (!progress().ends_at_weight() || !loss.value.valid()) return part;
    if (loss.weight.valid() && (loss.weight.tape != &tape || loss.weight.dtype() != dtype_of<Real> ||
                                !(loss.weight.shape() == loss.value.shape())))
      return part;  // refused later
    const void* const weight = loss.weight.valid() ? tape.values().on_host(tape, loss.weight.id) : nullptr;
    return progress().until_full(static_cast<const Real*>(weight), loss.value.shape().unit(), part);
  }

  /// The samples of a call that are recorded together.
  struct Part {
    std::int64_t first, samples, given;  ///< `samples` of the call's `given`, from `first` on
    bool last;                           ///< whether the window ends with them
    std::uint64_t round;                 ///< the key of random numbers, as in `Randomness`
    std::span<const std::int32_t> rows = {};  ///< the places of all given samples in their data set, if any
  };
  bool fills_window(std::int64_t part) const { return progress().ends().calls() == 0 && progress().is_filled_by(part); }
  /// Returns where the device reads them, valid until the next call; null for none.
  const std::int32_t* on_device(std::span<const std::int32_t> rows) {
    if (rows.empty() || device().shares_host_memory()) return rows.data();
    const auto bytes = static_cast<std::int64_t>(rows.size_bytes());
    rows_ = device().allocate(bytes);
    device().copy(rows_.data(), rows.data(), bytes);
    return reinterpret_cast<const std::int32_t*>(rows_.data());
  }
  bool may_shrink() const { return options().non_finite != NonFinite::drop_micro_batch; }

  /// Returns the number of samples taken from the part.
  template <class Record>
  std::int64_t add_part(const Part& part, Record& record) {
    EagerTape& tape = core_.sums().next_tape(part.first, part.samples, part.given);
    tape.training = true;
    const auto rows = part.rows.empty() ? part.rows : part.rows.subspan(static_cast<std::size_t>(part.first));
    const Randomness random{.on = true,
                            .seed = options().seed,
                            .round = part.round,
                            .samples = on_device(rows),
                            .begin = position(),
                            .step = static_cast<std::uint64_t>(step_count())};
    tape.values().bind_random(random);
    const Loss loss = recorded(tape, record);
    detail::validate(tape, part.first, rows);
    if (const std::int64_t taken = samples_until_full(tape, loss, part.samples); taken < part.samples) {
      Part until_full = part;
      until_full.samples = taken;
      until_full.last = fills_window(taken);
      return add_part(until_full, record);
    }
    {
      const detail::NotingTape noting(&tape.values());
      tape.first_adjoint = -1;  // derivatives within the model are part of it
      const Var scale = loss_scales<Rule> > 0 ? value_of(core_.scaler().scale(), loss.value) : Var{};
      detail::record_gradients_of(tape, loss, space_, scale, core_.arrays().frozen().parameters());
    }
    core_.add(tape, part.samples, part.last);
    return part.samples;
  }

  detail::EagerCore<Real, Optimizer> core_;
  BackwardSpace space_;
  eager::Storage rows_;
  MetricNames metric_names_;
  bool recording_ = false;
};

template <class Real, class Optimizer>
Session(ParametersIn<Real>&, Optimizer, SessionOptions) -> Session<ParametersIn<Real>, Optimizer, Inputs<>>;

}  // namespace gradual
