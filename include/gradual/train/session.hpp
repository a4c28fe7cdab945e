#pragma once
#include <gradual/optim/ema.hpp>
#include <gradual/optim/in_place.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/copy_named.hpp>
#include <gradual/train/one_net.hpp>
#include <gradual/train/parameters_view.hpp>
#include <gradual/train/session_base.hpp>
#include <gradual/train/session_core.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

namespace detail {
template <class Net, class Optimizer>
class LearnerOf;
/// What a span can be made of: a vector, an array, a span.
template <class Values>
concept Viewed = requires(const Values& values) { std::span(values); };
}  // namespace detail

template <class Net, class Optimizer, class In = typename Net::InputTypes>
class Session;

/// One model being trained. Everything it needs is allocated in its constructor, and when it is told to plan again.
template <class Net, class Optimizer, class... T>
class Session<Net, Optimizer, Inputs<T...>> : public detail::SessionBase<Session<Net, Optimizer, Inputs<T...>>> {
  using Rule = RuleOf<Optimizer>;
  using Real = typename Net::Real;
  using Shadow = ShadowFor<Net, Optimizer>;
  using Sum = SumOf<Shadow>;
  using Backend = typename Net::Backend;
  using Layout = TrainingLayout<Net, Rule, Shadow>;
  using Training = typename Layout::Training;
  using Update = typename Layout::UpdateProgram;
  static constexpr const SessionTables& tables() { return session_tables<Net, Rule, Shadow>; }
  using Arena = detail::SessionArena<Backend, Real, Shadow>;
  using Core = detail::SessionCore<Arena, detail::OpaqueOf<Optimizer, Real>>;
  using Base = detail::SessionBase<Session>;
  friend Base;
  static constexpr bool opaque = detail::holds_opaque<detail::HeldBy<Optimizer>>;
  static_assert(!opaque || std::is_same_v<Sum, Real>,
                "an opaque optimizer is handed numbers as the parameters are: wider sums would be rounded");
  static_assert([] {
    if constexpr (Net::template updates_by_element<Rule, Shadow>) return true;
    else return updates_in_place<Update>();
  }(),
                "the rule reads a value after the kernel that replaces it, or returns one value for two of its arrays");
  template <class X>
  using Span = std::span<const std::remove_all_extents_t<X>>;

 public:
  /// Errors: OptionError for sizes that are not positive, for windows that are counted in two ways, for a name to freeze
  /// that no parameter has or a rule that is another program with its numbers (`scalars_of`); ShapeError for sizes that
  /// cannot be counted; MemoryError where the budget is too small or the system refuses; NumericsError.
  Session(Net, const Optimizer& optimizer, const SessionOptions& options)
      : core_((Backend::check_numerics(), detail::check_one_net<Training>(), tables()),
              {&Backend::template kernels_of<Training>, &detail::UpdateProgram<Backend, Update>::kernels()}, optimizer,
              options) {}

  /// Adds the gradients of these samples to the window and steps whenever it is full; batches of any size are cut to
  /// the planned micro-batch and at the window's end. Spans are read in place; a device copies them before this returns, from
  /// the host's memory or its own. Returns the number of steps made.
  /// Errors, before anything is changed: DataError for spans that do not fit each other, labels outside the classes,
  /// values that are not finite; OptionError for a batch that ends inside a block that has no memory or, where the
  /// optimizer evaluates each window twice, goes on into the next window. Where the device fails
  /// inside a micro-batch (DeviceError) that one is undone where there is a copy of the window's sums (NonFinite), else
  /// the window is forgotten and begins again with the next samples.
  int accumulate(Span<T>... data) {
    const std::int64_t count = count_samples<Training, T...>(data...);
    const void* const samples[] = {data.data()...};
    if constexpr (Backend::shares_host_memory) {
      validate_samples<Training, T...>(data...);
      return core_.accumulate(count, samples, {});
    } else {
      const auto look = [&] { validate_samples_for<Training, T...>(arena().queue(), data...); };
      return core_.accumulate(count, samples, Validation::by(look));
    }
  }

  /// The same with samples `rows` of a whole data set, copied together first, until a window is full; `last`: it ends with
  /// them. Random numbers are keyed by epoch and place in the data set. Adds the samples that were taken to `taken`, also where
  /// the step that they lead to throws. Errors, before anything is changed: as `accumulate`, of the rows that the window has
  /// room for; OptionError without `gather`, for windows of calls or for samples in a device's memory; DataError for rows that
  /// the data set has not.
  void accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                       Span<T>... data) {
    const auto reads = [&](const void* values) {
      if (host_reads(values)) return true;
      throw OptionError("accumulate_rows: samples on the device: give them to accumulate, or to a trainer's fit");
    };
    validate_rows<Training, false, T...>(core_.rows_of_window(rows), reads, data...);
    const void* const samples[] = {data.data()...};
    core_.add_rows(rows, epoch, last, taken, samples);
  }

  using Base::again, Base::position, Base::step_count, Base::waits_for_step;

  /// Steps on what is left in an unfinished window. Returns the number of steps made, 0 or 1; 0 also where it must be given
  /// again. Errors: DataError for less than what must be given again.
  int flush() { return core_.flush(); }

  /// Adds the window's unfinished blocks to the accumulator, as `flush` does before it steps: what was accumulated so
  /// far can then be read. Done once; the window takes no more samples. Errors: MemoryError, as `accumulate`.
  void close_blocks() { core_.close_blocks(); }

  /// Forgets the window that has begun.
  void discard() { core_.discard(); }

  /// Steps on a gradient that was summed elsewhere: one value per parameter element, divided by `weight` here.
  /// A window that has begun is forgotten. Errors: DataError for another number of values, one that is not finite or a
  /// weight that is not positive.
  void apply(std::span<const Sum> gradient_sum, double weight) {
    static_assert(!evaluates_twice<Rule>, "apply: the optimizer evaluates each window twice, one gradient is not enough");
    core_.apply(gradient_sum, weight);
  }

  /// Weighted means of the loss and the metrics over these samples; nothing is learned. Any batch size, same bits.
  /// Errors: as `accumulate`; DataError for a weight of all that a window could not have; OptionError between the two
  /// evaluations of a window.
  Averages evaluate(Span<T>... data) {
    progress().check_in_place("evaluate");
    const std::int64_t count = validate_for<Backend, Training>(arena().queue(), Inputs<T...>{}, data...);
    const void* const samples[] = {data.data()...};
    return core_.evaluate(count, samples);
  }

  /// The loss of each of these samples, or of each of its tokens, before it is weighted; of none, nothing. Nothing is learned.
  /// Any batch size, same bits. Errors: as `accumulate`; OptionError between the two evaluations of a window; MemoryError.
  std::vector<Real> losses(Span<T>... data) {
    progress().check_in_place("losses");
    if ((data.empty() && ...)) return {};
    const std::int64_t count = validate_for<Backend, Training>(arena().queue(), Inputs<T...>{}, data...);
    const void* const samples[] = {data.data()...};
    return losses_of(count, samples);
  }

  /// What the model's `predict` makes of these samples, none too, with the parameters as they are:
  /// `Inference<Net>::output_width()` values for each, the bits of an `Inference`, from as many of the net's first inputs as
  /// `predict` has arguments. Computed in parts that fit the memory of the session's activations, or one by one in a block of
  /// their own where no sample does; by one thread.
  /// Errors: DataError as those of `Inference`; OptionError between the two evaluations of a window; MemoryError.
  template <class... Data>
  std::vector<Real> predict(const Data&... data) {
    static_assert((detail::Viewed<Data> && ...), "predict takes spans of values, one for each of its inputs, not a Dataset");
    using P = typename Net::Prediction;
    using In = typename detail::InputsOf<P>::type;
    static_assert(sizeof...(Data) == In::count, "predict takes a span for each argument of the model's, and returns the outputs");
    progress().check_in_place("predict");
    if ((std::span(data).empty() && ...)) return {};
    const std::int64_t count = validate_for<Backend, P>(arena().queue(), In{}, std::span(data)...);
    const void* const samples[] = {std::span(data).data()...};
    return or_memory_error("predict", [&] {
      std::vector<Real> out(static_cast<std::size_t>(count * inference_layout<Net>.width));
      core_.predict(inference_layout<Net>, Backend::template kernels_of<P>, count, samples, out);
      return out;
    });
  }

  /// Plans again for another budget, between any two calls, also inside a window: the micro-batch that `prefer` picks, but
  /// none larger than the one that was given at first. The transient block is freed before another is taken; persistent
  /// bytes never move, and no bit of the result depends on it. Where the system refuses, the micro-batch gets smaller.
  /// Errors: MemoryError with the numbers where no micro-batch fits (without memory for open blocks: none of whole
  /// blocks), nothing is changed then; or where the system refuses the smallest, which the next call will ask for again;
  /// OptionError where micro-batches are dropped.
  void set_budget(Budget budget) { core_.set_budget(budget); }

  /// Everything that training changes, also inside a window: a session that restores it goes on to the same bits. A
  /// copy; the parameters are there by name, as in a file of parameters alone. Not in it, since who restores it may choose
  /// others: the rule's numbers and schedules (the step that they go on from is), where later windows end, frozen names (inside
  /// a window no fewer, whose gradients are not there) and what becomes of what is not finite. Threads, micro-batches and budgets
  /// change no bit.
  Checkpoint state() const { return core_.state(detail::named_type<detail::HeldBy<Optimizer>>()); }
  /// Errors: FileError for a state of another net, optimizer, block length or reduction, by name; OptionError for a window
  /// that does not fit this session's. Nothing is changed then.
  void restore(const Checkpoint& state) { core_.restore(state, detail::named_type<detail::HeldBy<Optimizer>>()); }

  /// Until the device has done all that it was asked for; what reads anything of it waits by itself.
  void wait() const { arena().queue().wait(); }

  /// By position or by name. A view, through which they can be changed between windows; a copy where the backend has memory of
  /// its own. Errors: OptionError between the two evaluations of a window, when they are where `parameter_bytes` say.
  auto parameters() const {
    progress().check_in_place("parameters");
    return view_of(arena().parameters());
  }
  /// Their average that an `Ema` in the optimizer keeps; before the first step the parameters. Errors: likewise.
  auto averaged_parameters() const {
    static_assert(average_state<Rule> >= 0, "averaged_parameters: no Ema in the optimizer keeps an average");
    progress().check_in_place("averaged_parameters");
    return view_of(step_count() == 0 ? arena().parameters() : arena().state(average_state<Rule>));
  }
  /// All of them, parameter after parameter, also inside a window. Errors: DataError for another number of values; OptionError
  /// between the two evaluations of a window.
  void set_parameters(std::span<const Real> values) { core_.set_parameters(values); }
  /// Those that `pattern` names, as "encoder/*", from what another net's `parameters()` are by these names. Errors: also
  /// OptionError for a pattern that is no parameter's name, or a name that the others have not; ShapeError. Nothing is changed
  /// then.
  template <class Others>
  void set_parameters(const Others& others, std::string_view pattern) {
    or_memory_error("set_parameters", [&] {
      const auto own = arena().queue().view(arena().parameters(), Net::parameter_elements);
      std::vector<Real> changed(own.begin(), own.end());
      detail::copy_named(Net::declared(), std::span(changed), others, pattern);
      set_parameters(changed);
    });
  }
  /// Everything that training changes between windows: parameters and optimizer state, as bytes, padded to cache lines; views
  /// or copies. What compares with an eager session are `parameters().values()`.
  auto parameter_bytes() const { return bytes_of(arena().parameters(), memory().parameters); }
  auto optimizer_state_bytes() const { return bytes_of(arena().state(0), memory().optimizer_state); }
  /// The session's own copy of an opaque optimizer, or the one that it refers to.
  template <bool Has = opaque>  // clang 14 would instantiate it with the class, also where there is none
    requires Has
  auto& optimizer() {
    return core_.opaque().optimizer();
  }
  /// The window's summed gradients so far, parameter after parameter, times the loss scale: floats, or doubles where
  /// sums are wider or the net is in double. Errors: OptionError inside a window of which a gradient is not one sum over
  /// samples: it is known only once the window has ended.
  auto accumulator() const {
    core_.check_accumulator();
    return arena().sums(position() > 0);
  }
  std::span<std::byte> transient_bytes() const { return arena().transient_bytes(); }
  /// Which of the averages a metric is: `session.last_window().metric(session.metric("accuracy"))`; and the names of all.
  /// Errors: OptionError for a name that none has.
  static int metric(std::string_view name) { return Net::metric_names.at(name); }
  static std::span<const Name> metric_names() { return Net::metric_names.all(); }
  const MemoryTable& memory() const { return arena().table(); }
  /// What the session's two blocks hold; what `memory().total()` planned.
  std::int64_t allocated_bytes() const { return arena().bytes(); }
  /// The most bytes of the heap that a session takes beside its plan on the processor, where it names no parameters to
  /// freeze: where each value lies, what its threads are told, and numbers of its rule. The threads' stacks are the system's.
  static constexpr std::int64_t heap_bytes_beside_plan(int threads) {
    return 512 + 128 * threads + Arena::heap_bytes(tables());
  }
  /// What is held beside them of the host's memory, that copies to and from a device need; what `memory().pinned`
  /// planned.
  std::int64_t pinned_bytes() const { return arena().queue().pinned_bytes(); }
  /// Samples of the micro-batch that kernels learned from last.
  std::int64_t last_micro_batch() const { return core_.last_part(); }
  const SessionOptions& options() const { return core_.options(); }

 private:
  friend detail::LearnerOf<Net, Optimizer>;  // validates a data set once

  Arena& arena() { return core_.arena(); }
  const Arena& arena() const { return core_.arena(); }
  const detail::WindowProgress& progress() const { return core_.progress(); }
  const detail::LossScaler& scaler() const { return core_.scaler(); }
  double squares_of_gradient() const { return core_.squares_of_gradient(); }

  bool host_reads([[maybe_unused]] const void* samples) const {
    if constexpr (Backend::shares_host_memory) return true;
    else return !arena().queue().holds(samples);
  }
  auto view_of(Real* values) const {
    if constexpr (Backend::shares_host_memory) return ParametersView<Net>(values);
    else return ParametersCopy<Net>(arena().queue().view(values, Net::parameter_elements));
  }
  auto bytes_of(const Real* values, std::int64_t bytes) const {
    return arena().queue().view(reinterpret_cast<const std::byte*>(values), bytes);
  }

  /// Rows of data that were validated as a whole, of which indices are validated again: a callback may have changed them.
  void add_valid_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                      Span<T>... data) {
    validate_rows<Training, true, T...>(rows, [&](const void* values) { return host_reads(values); }, data...);
    const void* const samples[] = {data.data()...};
    core_.add_rows(rows, epoch, last, taken, samples);
  }
  /// Of samples that are made, and validated then.
  void add_made_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                     detail::SampleMaker& maker) {
    core_.add_rows(rows, epoch, last, taken, maker);
  }
  Averages evaluate_made(std::int64_t count, detail::SampleMaker& maker) {
    progress().check_in_place("evaluate");
    return or_memory_error("evaluate", [&] { return core_.evaluate(count, maker); });
  }
  std::vector<Real> losses_made(std::int64_t count, detail::SampleMaker& maker) {
    progress().check_in_place("losses");
    return losses_of(count, maker);
  }
  std::vector<Real> losses_of(std::int64_t count, typename Core::Samples samples) {
    return or_memory_error("losses", [&] {
      std::vector<Real> out(static_cast<std::size_t>(count * tables().loss_unit));
      core_.losses(count, samples, out);
      return out;
    });
  }

  Core core_;
};

template <class Net, class Optimizer>
Session(Net, Optimizer, SessionOptions) -> Session<Net, Optimizer>;

}  // namespace gradual
