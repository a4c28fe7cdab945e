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
/// Anything that a span can be made of: a vector, an array, a span.
template <class Values>
concept Viewed = requires(const Values& values) { std::span(values); };
}  // namespace detail

template <class Net, class Optimizer, class In = typename Net::InputTypes>
class Session;

/// One model being trained. Allocates everything it needs in its constructor, and again only when told to plan again.
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
                "an opaque optimizer takes gradients of the parameters' type: wider sums would be rounded");
  static_assert([] {
    if constexpr (Net::template updates_by_element<Rule, Shadow>) return true;
    else return updates_in_place<Update>();
  }(),
                "the rule reads a value after the kernel that replaces it, or returns one value for two of its arrays");
  template <class X>
  using Span = std::span<const std::remove_all_extents_t<X>>;

 public:
  /// Errors: OptionError for sizes that are not positive, windows counted in two ways, a name in `freeze` that no parameter
  /// has, or a rule whose numbers would make it another program (`scalars_of`); ShapeError for sizes too large to count;
  /// MemoryError where the budget is too small or the system refuses memory; NumericsError.
  Session(Net, const Optimizer& optimizer, const SessionOptions& options)
      : core_((Backend::check_numerics(), detail::check_one_net<Training>(), tables()),
              {&Backend::template kernels_of<Training>, &detail::UpdateProgram<Backend, Update>::kernels()}, optimizer,
              options) {}

  /// Adds the gradients of these samples to the window and steps whenever it is full; batches of any size are cut into planned
  /// micro-batches and at the window's end. Reads spans in place; a device copies them, from host memory or its own, before
  /// this returns. Returns the number of steps made.
  /// Errors, before anything is changed: DataError for spans that do not fit each other, labels outside the classes or values
  /// that are not finite; OptionError for a batch that ends inside a block for which there is no memory or, where the optimizer
  /// evaluates each window twice, runs on into the next window. If the device fails inside a micro-batch (DeviceError), that
  /// micro-batch is undone where a copy of the window's sums is kept (NonFinite); otherwise the window is forgotten and begins
  /// again with the next samples.
  int accumulate(Span<T>... data) {
    const std::int64_t count = count_samples<T...>(data...);
    const void* const samples[] = {data.data()...};
    if constexpr (Backend::shares_host_memory) {
      validate_samples<Training, T...>(data...);
      return core_.accumulate(count, samples, {});
    } else {
      const auto look = [&] { validate_samples_for<Training, T...>(arena().queue(), data...); };
      return core_.accumulate(count, samples, DeferredCheck::by(look));
    }
  }

  /// Does the same with samples `rows` of a whole data set, which it first copies together, until a window is full; `last` ends
  /// the window with them; makes only the step if one is waited for. Random numbers are keyed by epoch and place in the data
  /// set. Adds the number of samples taken to `taken`, even if the step that follows throws. Errors, before anything is
  /// changed: as `accumulate`, for the rows that the window has room for; OptionError without `gather`, for windows counted in
  /// calls or samples in a device's memory; DataError for rows not in the data set.
  void accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                       Span<T>... data) {
    const auto reads = [&](const void* values) {
      if (host_reads(values)) return true;
      throw OptionError("accumulate_rows: the samples are on the device: give them to accumulate, or to a trainer's fit");
    };
    validate_rows<Training, false, T...>(core_.rows_of_window(rows), reads, data...);
    const void* const samples[] = {data.data()...};
    core_.add_rows(rows, epoch, last, taken, samples);
  }

  using Base::again, Base::position, Base::step_count, Base::waits_for_step;

  /// Steps on what an unfinished window holds. Returns the number of steps made, 0 or 1; also 0 where the window must be given
  /// again. Errors: DataError for fewer samples than must be given again; DeviceError, after which the window begins anew if
  /// some of its blocks have been added.
  int flush() { return core_.flush(); }

  /// Adds the window's unfinished blocks to the accumulator, as `flush` does before it steps, so that the sums so far can be
  /// read. Works once per window, which then takes no more samples. Errors: MemoryError, as `accumulate`; DeviceError, as
  /// `flush`.
  void close_blocks() { core_.close_blocks(); }

  /// Forgets the window that has begun.
  void discard() { core_.discard(); }

  /// Steps on a gradient that was summed elsewhere, one value per parameter element, which is divided by `weight` here. Forgets
  /// a window that has begun. Errors, before anything is changed: DataError for another number of values, a value that is not
  /// finite or a weight that is not positive; OptionError for a number of the rule that this step refuses.
  void apply(std::span<const Sum> gradient_sum, double weight) {
    static_assert(!evaluates_twice<Rule>, "apply: the optimizer evaluates each window twice: one gradient is not enough");
    core_.apply(gradient_sum, weight);
  }

  /// Returns the weighted means of the loss and the metrics over these samples without learning from them. The bits do not
  /// depend on the batch size. Errors: as `accumulate`; DataError for a total weight that a window could not have; OptionError
  /// between the two evaluations of a window.
  Averages evaluate(Span<T>... data) {
    progress().check_in_place("evaluate");
    const std::int64_t count = validate_for<Backend, Training>(arena().queue(), Inputs<T...>{}, data...);
    const void* const samples[] = {data.data()...};
    return core_.evaluate(count, samples);
  }

  /// Returns the unweighted loss of each sample, or of each of its tokens, without learning from them; empty for none. Any
  /// batch size, same bits. Errors: as `accumulate`; OptionError between the two evaluations of a window; MemoryError.
  std::vector<Real> losses(Span<T>... data) {
    progress().check_in_place("losses");
    if ((data.empty() && ...)) return {};
    const std::int64_t count = validate_for<Backend, Training>(arena().queue(), Inputs<T...>{}, data...);
    const void* const samples[] = {data.data()...};
    return losses_of(count, samples);
  }

  /// Returns what the model's `predict` computes for these samples, possibly none, with the current parameters:
  /// `Inference<Net>::output_width()` values per sample, with the bits of an `Inference`, from as many of the net's first
  /// inputs as `predict` has arguments. Computes in parts that fit into the memory of the session's activations, or one sample
  /// at a time in a block of its own where not even one fits; uses the session's threads.
  /// Errors: DataError as those of `Inference`; OptionError between the two evaluations of a window; MemoryError.
  template <class... Data>
  std::vector<Real> predict(const Data&... data) {
    static_assert((detail::Viewed<Data> && ...), "predict takes spans of values, one for each of its inputs, not a Dataset");
    using P = typename Net::Prediction;
    using In = typename detail::InputsOf<P>::type;
    static_assert(sizeof...(Data) == In::count, "predict takes a span for each argument of the model, and returns the outputs");
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

  /// Plans again for another budget, between any two calls, even inside a window: takes the micro-batch that `prefer` picks,
  /// but none larger than the one given at first. Frees the transient block before taking another; persistent bytes never move,
  /// and no bit of the result depends on the budget. Where the system refuses memory, the micro-batch gets smaller.
  /// Errors: MemoryError with the numbers where no micro-batch fits (without memory for open blocks, none of whole blocks),
  /// with nothing changed; or where the system refuses even the smallest, which the next call will request again; OptionError
  /// where micro-batches are dropped.
  void set_budget(Budget budget) { core_.set_budget(budget); }

  /// Returns a copy of everything that training changes, even inside a window: a session that restores it goes on to the same
  /// bits. Parameters are stored by name, as in a file of parameters alone. Left out, since whoever restores it may choose
  /// others: the rule's numbers and schedules (though not the step they continue from), where later windows end, frozen names
  /// (inside a window no fewer, as it lacks their gradients) and what is done with non-finite values. Threads, micro-batches
  /// and budgets change no bit. Errors: OptionError where a window's step has failed; MemoryError.
  Checkpoint state() const { return core_.state(detail::named_type<detail::HeldBy<Optimizer>>()); }
  /// Errors: FileError for a state of another net, optimizer, block length or reduction, naming it; OptionError for a window
  /// that does not fit this session's. Nothing is changed then.
  void restore(const Checkpoint& state) { core_.restore(state, detail::named_type<detail::HeldBy<Optimizer>>()); }

  /// Waits until the device has done everything it was asked to do; calls that read its results wait by themselves.
  void wait() const { arena().queue().wait(); }

  /// Returns the parameters, by position or name: a view that can change them between windows, or a copy where the backend has
  /// its own memory. Errors: OptionError between a window's two evaluations, when they are as `parameter_bytes` shows.
  auto parameters() const {
    progress().check_in_place("parameters");
    return view_of(arena().parameters());
  }
  /// Returns the average that an `Ema` in the optimizer keeps of them; before the first step, the parameters. Errors: likewise.
  auto averaged_parameters() const {
    static_assert(average_state<Rule> >= 0, "averaged_parameters: the optimizer has no Ema to keep an average");
    progress().check_in_place("averaged_parameters");
    return view_of(step_count() == 0 ? arena().parameters() : arena().state(average_state<Rule>));
  }
  /// Returns state `index` of the optimizer, by position or name of the parameters: a view or a copy, as `parameters`. A rule's
  /// states are counted as it declares them, an adapter's own after those of its inner rule. Errors: OptionError for one that
  /// it does not have, or that has another shape than a parameter; between the two evaluations of a window.
  auto optimizer_state(int index) const {
    progress().check_in_place("optimizer_state");
    core_.check_state(index);
    return view_of(arena().state(index));
  }
  /// Sets all parameters, one after another, even inside a window. Errors: DataError for another number of values; OptionError
  /// between the two evaluations of a window.
  void set_parameters(std::span<const Real> values) { core_.set_parameters(values); }
  /// Sets those that match `pattern`, such as "encoder/*", to the values of the same names in another net's `parameters()`.
  /// Errors: also OptionError for a pattern that matches no parameter, or a name that the others lack; ShapeError. Nothing is
  /// changed then.
  template <class Others>
  void set_parameters(const Others& others, std::string_view pattern) {
    or_memory_error("set_parameters", [&] {
      const auto own = arena().queue().view(arena().parameters(), Net::parameter_elements);
      std::vector<Real> changed(own.begin(), own.end());
      detail::copy_named(Net::declared(), std::span(changed), others, pattern);
      set_parameters(changed);
    });
  }
  /// Return everything that training changes between windows, parameters and optimizer state, as bytes padded to cache lines;
  /// views or copies. To compare with an eager session use `parameters().values()`.
  auto parameter_bytes() const { return bytes_of(arena().parameters(), memory().parameters); }
  auto optimizer_state_bytes() const { return bytes_of(arena().state(0), memory().optimizer_state); }
  /// Returns the session's own copy of an opaque optimizer, or the one that it refers to.
  template <bool Has = opaque>  // clang 14 would instantiate it with the class, even without an opaque optimizer
    requires Has
  auto& optimizer() {
    return core_.opaque().optimizer();
  }
  /// Returns the window's gradient sums so far, one parameter after another, times the loss scale: floats, or doubles where
  /// sums are wider or the net is in double. Errors: OptionError inside a window with a gradient that is no plain sum over
  /// samples and so is known only once the window has ended.
  auto accumulator() const {
    core_.check_accumulator();
    return arena().sums(position() > 0);
  }
  std::span<std::byte> transient_bytes() const { return arena().transient_bytes(); }
  /// Return a metric's index among the averages, `session.last_window().metric(session.metric("accuracy"))`, and all names.
  /// Errors: OptionError for a name that no metric has.
  static int metric(std::string_view name) { return Net::metric_names.at(name); }
  static std::span<const Name> metric_names() { return Net::metric_names.all(); }
  const MemoryTable& memory() const { return arena().table(); }
  /// Returns the bytes of the session's two blocks, as planned in `memory().total()`.
  std::int64_t allocated_bytes() const { return arena().bytes(); }
  /// Returns the most heap bytes that a session on the processor takes beside its plan if it freezes no parameters by name:
  /// where each value lies, what its threads are told, and the rule's numbers. The threads' stacks are the system's.
  static constexpr std::int64_t heap_bytes_beside_plan(int threads) {
    return 512 + 128 * threads + Arena::heap_bytes(tables());
  }
  /// Returns the bytes of host memory held beside them for copies to and from a device, as planned in `memory().pinned`.
  std::int64_t pinned_bytes() const { return arena().queue().pinned_bytes(); }
  /// Returns the number of samples in the micro-batch that kernels learned from last.
  std::int64_t last_micro_batch() const { return core_.last_part(); }
  const SessionOptions& options() const { return core_.options(); }

 private:
  friend detail::LearnerOf<Net, Optimizer>;  // validates a data set once

  Arena& arena() { return core_.arena(); }
  const Arena& arena() const { return core_.arena(); }
  const detail::WindowProgress& progress() const { return core_.progress(); }

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

  /// Adds rows of data validated as a whole, validating only the indices again: a callback may have changed them.
  void add_valid_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                      Span<T>... data) {
    validate_rows<Training, true, T...>(rows, [&](const void* values) { return host_reads(values); }, data...);
    const void* const samples[] = {data.data()...};
    core_.add_rows(rows, epoch, last, taken, samples);
  }
  /// Adds samples that are made, which are validated then.
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
