#pragma once
#include <algorithm>

#include <gradual/autodiff/in_place.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/optim/ema.hpp>
#include <gradual/train/session_base.hpp>
#include <gradual/train/session_state.hpp>
#include <gradual/train/session_step.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

namespace detail {
template <class Net, class Optimizer>
class LearnerOf;
}

template <class Net, class Optimizer, class In = typename Net::InputTypes>
class Session;

/// One model being trained. Everything it needs is allocated in its constructor, and when it is told to plan again.
template <class Net, class Optimizer, class... T>
class Session<Net, Optimizer, Inputs<T...>> : public detail::SessionBase<Session<Net, Optimizer, Inputs<T...>>> {
  using Rule = RuleOf<Optimizer>;
  using Arena = detail::SessionArena<Net, Rule, ShadowFor<Net, Optimizer>, Inputs<T...>>;
  using Layout = typename Arena::Layout;
  using Training = typename Layout::Training;
  using Sum = typename Layout::Sum;
  using Real = typename Net::Real;
  using Window = detail::SessionWindow<Arena>;
  using State = detail::SessionState<Net, Optimizer, Inputs<T...>>;
  using Base = detail::SessionBase<Session>;
  friend State;
  friend Base;
  static constexpr bool opaque = detail::holds_opaque<detail::HeldBy<Optimizer>>;
  static_assert(!opaque || std::is_same_v<Sum, Real>,
                "an opaque optimizer is handed numbers as the parameters are: wider sums would be rounded");
  static_assert(updates_in_place<typename Layout::UpdateProgram>(),
                "the rule reads a value after the kernel that replaces it, or returns one value for two of its arrays");

 public:
  /// Errors: OptionError for sizes that are not positive, for windows that are counted in two ways, for a name to freeze
  /// that no parameter has or a rule that is another program with its numbers (`scalars_of`); ShapeError for sizes that
  /// cannot be counted; MemoryError where the budget is too small or the system refuses; NumericsError.
  [[gnu::cold]] Session(Net, const Optimizer& optimizer, const SessionOptions& options)
  try : options_(with_free_memory(detail::checked(options, calls_of(optimizer)))), step_(optimizer),
        window_(options_, rule_of(optimizer), calls_of(optimizer)) {
    options_.micro_batch = arena().micro_batch();
    step_.begin(arena());
  } catch (const std::bad_alloc&) {
    throw MemoryError("a session: the system refused memory");
  }

  /// Adds the gradients of these samples to the window and steps whenever it is full; batches of any size are cut to
  /// the planned micro-batch and at the window's end. Spans are read in place. Returns the number of steps made.
  /// Errors, before anything is changed: DataError for spans that do not fit each other, labels outside the classes,
  /// values that are not finite; OptionError for a batch that ends inside a block that has no memory or, where the
  /// optimizer evaluates each window twice, goes on into the next window. Where the device fails
  /// inside a micro-batch (DeviceError) that one is undone where there is a copy of the window's sums (NonFinite), else
  /// the window is forgotten and begins again with the next samples.
  int accumulate(std::span<const std::remove_all_extents_t<T>>... data) {
    const std::int64_t count = validate<Training, T...>(data...);
    check_blocks(count);
    progress().check_room(count);
    require_transient();
    int steps = finish_full_window();
    for (std::int64_t done = 0; done < count;) {
      follow_memory();
      const std::int64_t part = progress().next_part(count - done, options_.micro_batch);
      arena().bind(done, part, data...);
      const bool last = progress().ends().calls() == 0 && progress().is_filled_by(part);
      done += add(part, last, static_cast<std::uint64_t>(step_count()));
      if (progress().ends_here(done == count)) steps += step();
    }
    return steps;
  }

  /// The same with samples `rows` of a whole data set, copied together first, until a window is full; `last`: it ends with
  /// them. Random numbers are keyed by epoch and place in the data set. Adds the samples that were taken to `taken`, also where
  /// the step that they lead to throws. Errors, before anything is changed: as `accumulate`, of the rows that the window has
  /// room for; OptionError without `gather`, or for windows of calls; DataError for rows that the data set has not.
  void accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                       std::span<const std::remove_all_extents_t<T>>... data) {
    if (!options_.gather || progress().ends().calls() != 0)
      throw OptionError("accumulate_rows: needs a session with .gather, and windows that are counted in samples");
    if (rows.empty() && !waits_for_step()) throw DataError("a batch of 0 samples");
    const std::size_t most = waits_for_step() ? rows.size() : static_cast<std::size_t>(progress().room());
    validate_rows<Training, false, T...>(rows.first(std::min(rows.size(), most)), data...);
    add_rows(rows, epoch, last, taken, data...);
  }

  using Base::again, Base::position, Base::step_count, Base::waits_for_step;

  /// Steps on what is left in an unfinished window. Returns the number of steps made, 0 or 1; 0 also where it must be given
  /// again. Errors: DataError for less than what must be given again.
  int flush() {
    if (!progress().has_begun() && !again()) return 0;
    require_transient();
    return step();
  }

  /// Adds the window's unfinished blocks to the accumulator, as `flush` does before it steps: what was accumulated so
  /// far can then be read. Done once; the window takes no more samples. Errors: MemoryError, as `accumulate`.
  void close_blocks() {
    require_transient();
    window_.close_blocks();
  }

  /// Forgets the window that has begun.
  void discard() {
    step_.discard(window_);
  }

  /// Steps on a gradient that was summed elsewhere: one value per parameter element, divided by `weight` here.
  /// A window that has begun is forgotten. Errors: DataError for another number of values, one that is not finite or a
  /// weight that is not positive.
  void apply(std::span<const Sum> gradient_sum, double weight) {
    static_assert(!evaluates_twice<Rule>, "apply: the optimizer evaluates each window twice, one gradient is not enough");
    if (static_cast<std::int64_t>(gradient_sum.size()) != Net::parameter_elements || !(weight > 0))
      detail::refuse_gradients(Net::parameter_elements, gradient_sum.size(), weight);
    check_weight(weight);
    if (!math::all_finite(gradient_sum)) throw DataError("apply: a gradient that is not finite");
    require_transient();
    discard();
    arena().queue().write(arena().gradients(), gradient_sum.data(), Net::parameter_elements * std::int64_t{sizeof(Sum)});
    step_.apply(window_, weight);
  }

  /// Weighted means of the loss and the metrics over these samples; nothing is learned. Any batch size, same bits.
  /// Errors: as `accumulate`; OptionError between the two evaluations of a window.
  Averages evaluate(std::span<const std::remove_all_extents_t<T>>... data) {
    if (again()) throw OptionError("evaluate: the parameters are elsewhere until the window is given again");
    const std::int64_t count = validate<Training, T...>(data...);
    require_transient();
    window_.take_losses();
    Averages result(Window::metrics);
    detail::LossesAhead<Real> coming;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = std::min(options_.micro_batch, count - done);
      arena().bind(done, part, data...);
      window_.evaluate(part, done == 0, result, coming);
      done += part;
    }
    coming.add_to(result, arena().queue());
    return result;
  }

  /// Plans again for another budget, between any two calls, also inside a window: the micro-batch that `prefer` picks, but
  /// none larger than the one that was given at first. The transient block is freed before another is taken; persistent
  /// bytes never move, and no bit of the result depends on it. Where the system refuses, the micro-batch gets smaller.
  /// Errors: MemoryError with the numbers where no micro-batch fits (without memory for open blocks: none of whole
  /// blocks), nothing is changed then; or where the system refuses the smallest, which the next call will ask for again;
  /// OptionError where micro-batches are dropped.
  [[gnu::cold]] void set_budget(Budget budget) {
    if (options_.non_finite == NonFinite::drop_micro_batch)
      throw OptionError("set_budget: memory must not decide on what NonFinite::drop_micro_batch drops");
    window_.take_losses();
    arena().set_budget(budget.follows ? what_is_free() : budget);
    options_.memory_budget = budget;
    options_.micro_batch = arena().micro_batch();
  }

  /// Everything that training changes, also inside a window: a session that restores it goes on to the same bits. A
  /// copy; the parameters are there by name, as in a file of parameters alone. Not in it, since who restores it may choose
  /// others: the rule's numbers and schedules (the step that they go on from is), where later windows end, frozen names and
  /// what becomes of what is not finite. Threads, micro-batches and budgets change no bit.
  [[gnu::cold]] Checkpoint state() const {
    window_.take_losses();
    return or_memory_error("the state of a session", [&] { return State::read(*this); });
  }
  /// Errors: FileError for a state of another net, optimizer, block length or reduction, by name; OptionError for a window
  /// that does not fit this session's. Nothing is changed then.
  [[gnu::cold]] void restore(const Checkpoint& state) {
    require_transient();
    window_.take_losses();
    or_memory_error("restoring a session", [&] { detail::in_file(state, [&] { State::write(*this, state); }); });
  }

  /// Until the device has done all that it was asked for; what reads anything of it waits by itself.
  void wait() const { arena().queue().wait(); }

  /// By position or by name. A view, through which they can be changed between windows; a copy where the backend has memory of
  /// its own.
  auto parameters() const { return view_of(arena().parameters()); }
  /// The parameters' average that an `Ema` in the optimizer keeps; zero before the first step.
  auto averaged_parameters() const
    requires(average_state<Rule> >= 0)
  {
    return view_of(arena().state(average_state<Rule>));
  }
  /// All of them, parameter after parameter, also inside a window. Errors: DataError for another number of values; OptionError
  /// between the two evaluations of a window.
  void set_parameters(std::span<const Real> values) {
    if (static_cast<std::int64_t>(values.size()) != Net::parameter_elements)
      detail::refuse_parameters("set_parameters", Net::parameter_elements, values.size());
    if (again())
      throw OptionError("set_parameters: the parameters are elsewhere until the window is given again: discard it before");
    require_transient();
    arena().queue().write(arena().parameters(), values.data(), Net::parameter_elements * std::int64_t{sizeof(Real)});
    window_.derive_again();
  }
  /// Everything that training changes between windows: parameters and optimizer state, as bytes, padded to cache lines; views
  /// or copies. What compares with an eager session are `parameters().values()`.
  auto parameter_bytes() const { return bytes_of(arena().parameters(), memory().parameters); }
  auto optimizer_state_bytes() const { return bytes_of(arena().state(0), memory().optimizer_state); }
  /// The session's own copy of an opaque optimizer, or the one that it refers to.
  template <bool Has = opaque>  // clang 14 would instantiate it with the class, also where there is none
    requires Has
  auto& optimizer() {
    return step_.opaque().optimizer();
  }
  /// The window's summed gradients so far, parameter after parameter, times the loss scale: floats, or doubles where
  /// sums are wider or the net is in double. Errors: OptionError inside a window of which a gradient is not one sum over
  /// samples: it is known only once the window has ended.
  auto accumulator() const {
    if constexpr (constexpr int p = Layout::first_known_at_end(); p >= 0)
      if (position() > 0)
        throw OptionError("accumulator: the gradient of '" + Net::parameter(p).name.string() +
                          "' is not one sum over samples: it is known only once the window has ended");
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
  /// freeze: what its threads are told, and numbers of its rule. The threads' stacks are the system's.
  static constexpr std::int64_t heap_bytes_beside_plan(int threads) { return 512 + 128 * threads; }
  /// What is held beside them of the host's memory, that copies to and from a device need; what `memory().pinned`
  /// planned.
  std::int64_t pinned_bytes() const { return arena().queue().pinned_bytes(); }
  /// Samples of the micro-batch that kernels learned from last.
  std::int64_t last_micro_batch() const { return window_.last_part(); }
  const SessionOptions& options() const { return options_; }

 private:
  friend detail::LearnerOf<Net, Optimizer>;  // validates a data set once

  Arena& arena() { return window_.arena(); }
  const Arena& arena() const { return window_.arena(); }
  detail::WindowProgress& progress() { return window_.progress(); }
  const detail::WindowProgress& progress() const { return window_.progress(); }
  const detail::LossScaler& scaler() const { return step_.scaler(); }
  double squares_of_gradient() const {
    const auto sums = arena().sums(false);
    return detail::squares_of(Net::declared(), arena().frozen(), std::span<const Sum>(sums), {}).all;
  }

  auto view_of(Real* values) const {
    if constexpr (Net::Backend::shares_host_memory) return ParametersView<Net>(values);
    else return ParametersCopy<Net>(arena().queue().view(values, Net::parameter_elements));
  }
  auto bytes_of(const Real* values, std::int64_t bytes) const {
    return arena().queue().view(reinterpret_cast<const std::byte*>(values), bytes);
  }

  static SessionOptions with_free_memory(SessionOptions options) {
    if (options.memory_budget.follows) options.memory_budget.bytes = Net::Backend::free_memory();
    return options;
  }
  /// On the device, beside what this session holds.
  Budget what_is_free() const { return Net::Backend::free_memory() + arena().bytes(); }
  /// Where a window begins: takes what is free, where that allows for more.
  void follow_memory() {
    if (options_.memory_budget.follows && position() == 0) set_budget(options_.memory_budget);
  }
  void require_transient() {
    arena().require_transient();
    options_.micro_batch = arena().micro_batch();
  }

  /// Returns the number of steps made.
  int finish_full_window() { return waits_for_step() ? step() : 0; }

  /// Rows of data that were validated as a whole, of which indices are validated again: a callback may have changed them.
  void add_valid_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                      std::span<const std::remove_all_extents_t<T>>... data) {
    validate_rows<Training, true, T...>(rows, data...);
    add_rows(rows, epoch, last, taken, data...);
  }

  /// Rows that were validated, up to a window.
  void add_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken,
                std::span<const std::remove_all_extents_t<T>>... data) {
    require_transient();
    if (finish_full_window() > 0) return;
    follow_memory();
    const auto count = static_cast<std::int64_t>(rows.size());
    check_blocks(std::min(count, progress().room()), last);
    std::int64_t done = 0;
    for (bool ended = false; done < count && !ended;) {
      const std::int64_t part = progress().next_part(count - done, options_.micro_batch);
      const auto rows_of_part = rows.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part));
      const std::int32_t* const places = arena().gather(rows_of_part, data...);
      const std::int64_t added = add(part, progress().is_filled_by(part) || (last && done + part == count), epoch, places);
      done += added, taken += added;
      ended = progress().full() || (last && done == count);
      if (ended) step();
    }
  }

  /// A window that was closed takes no more. Where weight gradients have no memory for an open block, a part must end on a
  /// block or with its window; `last`: which ends with these samples.
  void check_blocks(std::int64_t count, bool last = false) const {
    if (window_.is_closed() && position() > 0 && !waits_for_step())
      throw OptionError("accumulate: the window's blocks are closed: flush it or discard it");
    if (arena().plan().layout().choice.open_blocks) return;
    progress().check_blocks(count, last, options_, Layout::block_samples());
  }

  /// `round`, `samples`: what random numbers are keyed by. Returns how many of `part` samples were taken.
  std::int64_t add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples = nullptr) {
    try {
      return window_.add(part, last, {true, options_.seed, round, samples});
    } catch (...) {
      if (window_.is_lost()) discard();
      throw;
    }
  }
  int step() { return step_.end(window_, options_); }

  SessionOptions options_;
  detail::SessionStep<Net, Optimizer, Arena> step_;
  Window window_;
};

template <class Net, class Optimizer>
Session(Net, Optimizer, SessionOptions) -> Session<Net, Optimizer>;

}  // namespace gradual
