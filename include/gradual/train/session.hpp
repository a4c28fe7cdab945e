#pragma once
#include <algorithm>

#include <gradual/autodiff/in_place.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/optim/ema.hpp>
#include <gradual/train/averages.hpp>
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/losses_ahead.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/opaque_on_arena.hpp>
#include <gradual/train/second_evaluation.hpp>
#include <gradual/train/session_arena.hpp>
#include <gradual/train/session_state.hpp>
#include <gradual/train/update_numbers.hpp>
#include <gradual/train/validate.hpp>
#include <gradual/train/window.hpp>

namespace gradual {

template <class Net, class Optimizer, class In = typename Net::InputTypes>
class Session;

/// One model being trained. Everything it needs is allocated in its constructor, and when it is told to plan again.
template <class Net, class Optimizer, class... T>
class Session<Net, Optimizer, Inputs<T...>> {
  using Rule = RuleOf<Optimizer>;
  using Arena = detail::SessionArena<Net, Rule, ShadowOf<Optimizer>, Inputs<T...>>;
  using Layout = typename Arena::Layout;
  using Training = typename Layout::Training;
  using Sum = typename Layout::Sum;
  using State = detail::SessionState<Net, Optimizer, Inputs<T...>>;
  using Opaque = detail::OpaqueOnArena<Net, Optimizer>;
  friend State;
  using Queue = typename Net::Backend::Queue;
  static constexpr int metrics = Training::count_of(Role::metric);
  static constexpr bool ahead = Queue::places > 1;  ///< the device works while the host goes on
  static constexpr bool twice = evaluates_twice<Rule>;
  static_assert(!Opaque::exists || std::is_same_v<Sum, float>,
                "an opaque optimizer is handed floats: wider sums would be rounded");
  static_assert(updates_in_place<typename Layout::UpdateProgram>(),
                "the rule reads a value after the kernel that replaces it, or returns one value for two of its arrays");

 public:
  /// Errors: OptionError for sizes that are not positive, for windows that are counted in two ways, for a name to freeze
  /// that no parameter has or a rule that is another program with its numbers (`scalars_of`); ShapeError for sizes that
  /// cannot be counted; MemoryError where the budget is too small or the system refuses; NumericsError.
  [[gnu::cold]] Session(Net, const Optimizer& optimizer, const SessionOptions& options)
  try : options_(with_free_memory(detail::checked(options, calls_of(optimizer)))), every_(calls_of(optimizer)),
        scaler_(detail::LossScaler::of(rule_of(optimizer))), numbers_(rule_of(optimizer)),
        arena_(options_, rule_of(optimizer), every_ != 0 || detail::windows_vary(options_)), opaque_(optimizer),
        noise_(options_.noise_batch) {
    if (every_ != 0 && detail::windows_vary(options_)) throw OptionError("Session: windows of calls have neither samples nor a weight");
    if constexpr (twice) detail::check_ends_known(options_);
    options_.micro_batch = arena_.micro_batch();
    arena_.set_loss_scale(scaler_.scale());
    if constexpr (Opaque::exists) opaque_.begin(arena_);
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
    if constexpr (twice)
      if (every_ == 0) detail::check_room(count, window() - (full() ? 0 : position_));
    require_transient();
    int steps = finish_full_window();
    for (std::int64_t done = 0; done < count;) {
      follow_memory();
      const std::int64_t part = next_part(count - done, window() - position_, position_);
      arena_.bind(done, part, data...);
      done += run_part(part, every_ == 0 && position_ + part == window(), static_cast<std::uint64_t>(step_count_));
      if (every_ == 0 ? full() : done == count && ++calls_ == every_) steps += step();
    }
    return steps;
  }

  /// The same with samples `rows` of a whole data set, copied together first, until a window is full; `last`: it ends with
  /// them. Random numbers are keyed by epoch and place in the data set. The data set must have been validated. Needs
  /// `gather`; returns the number of samples taken.
  std::int64_t accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last,
                      std::span<const std::remove_all_extents_t<T>>... data) {
    require_transient();
    if (finish_full_window() > 0) return 0;
    follow_memory();
    const auto count = static_cast<std::int64_t>(rows.size());
    std::int64_t done = 0;
    for (bool ended = false; done < count && !ended;) {
      const std::int64_t part = next_part(count - done, window() - position_, position_);
      const std::int32_t* places = arena_.gather(rows.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part)), data...);
      done += run_part(part, position_ + part == window() || (last && done + part == count), epoch, places);
      ended = full() || (last && done == count);
      if (ended) step();
    }
    return done;
  }

  /// Whether the window that was just complete must be given again, in any parts: the optimizer evaluates each window twice,
  /// the second time not at the parameters but near them, where they are until then.
  bool again() const { return again_ > 0; }

  /// Steps on what is left in an unfinished window. Returns the number of steps made, 0 or 1; 0 also where it must be given
  /// again. Errors: DataError for less than what must be given again.
  int flush() {
    if (position_ + dropped_ == 0 && !again()) return 0;
    require_transient();
    return step();
  }

  /// Adds the window's unfinished blocks to the accumulator, as `flush` does before it steps: what was accumulated so
  /// far can then be read. Done once; the window cannot be continued.
  void close_blocks() {
    if (closed_) return;
    closed_ = true;
    arena_.close_blocks(position_);
  }

  /// Forgets the window that has begun.
  void discard() {
    if constexpr (twice) go_back();
    clear_window();
  }

  /// Steps on a gradient that was summed elsewhere: one value per parameter element, divided by `weight` here.
  /// A window that has begun is forgotten. Errors: DataError for another number of values, one that is not finite or a
  /// weight that is not positive.
  void apply(std::span<const Sum> gradient_sum, double weight) {
    static_assert(!twice, "apply: the optimizer evaluates each window twice, one gradient is not enough");
    if (static_cast<std::int64_t>(gradient_sum.size()) != Net::parameter_elements || !(weight > 0))
      throw DataError("apply: the net has " + std::to_string(Net::parameter_elements) + " parameters, got " +
                      std::to_string(gradient_sum.size()) + " gradients of weight " + std::to_string(weight));
    check_weight(weight);
    if (!math::all_finite(gradient_sum)) throw DataError("apply: a gradient that is not finite");
    require_transient();
    discard();
    arena_.queue().write(arena_.gradients(), gradient_sum.data(), Net::parameter_elements * std::int64_t{sizeof(Sum)});
    update(weight, 1);
    ++step_count_;
  }

  /// Weighted means of the loss and the metrics over these samples; nothing is learned. Any batch size, same bits.
  /// Errors: as `accumulate`; OptionError between the two evaluations of a window.
  Averages evaluate(std::span<const std::remove_all_extents_t<T>>... data) {
    if (again()) throw OptionError("evaluate: the parameters are elsewhere until the window is given again");
    const std::int64_t count = validate<Training, T...>(data...);
    require_transient();
    take_losses();
    Averages result(metrics);
    detail::LossesAhead coming;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = std::min(options_.micro_batch, count - done);
      arena_.bind(done, part, data...);
      const StepArguments arguments = arena_.arguments(part, position_, done == 0, false);
      arena_.queue().template run<Training, Phase::prologue>(arguments);
      arena_.queue().template run<Training, Phase::forward>(arguments);
      coming.push(fetch_losses(part, [&](auto... arrays) { return arena_.queue().fetch(arrays...); }));
      coming.add_to(result, arena_.queue(), Queue::places - 1);
      done += part;
    }
    coming.add_to(result, arena_.queue());
    return result;
  }

  /// Plans again for another budget, between any two calls, also inside a window: the largest micro-batch that fits, but
  /// none larger than the one that was given at first. The transient block is freed before another is taken; persistent
  /// bytes never move, and no bit of the result depends on it. Where the system refuses, the micro-batch gets smaller.
  /// Errors: MemoryError with the numbers where no micro-batch fits (without memory for open blocks: none of whole
  /// blocks), nothing is changed then; or where the system refuses the smallest, which the next call will ask for again;
  /// OptionError where micro-batches are dropped.
  void set_budget(Budget budget) {
    if (undoes()) throw OptionError("set_budget: memory must not decide on what NonFinite::drop_micro_batch drops");
    take_losses();
    arena_.set_budget(budget.follows ? what_is_free() : budget);
    options_.memory_budget = budget;
    options_.micro_batch = arena_.micro_batch();
  }

  /// Everything that training changes, also inside a window: a session that restores it goes on to the same bits. A
  /// copy; the parameters are there by name, as in a file of parameters alone. Not in it, since who restores it may choose
  /// others: the rule's numbers and schedules (the step that they go on from is), where later windows end, frozen names and
  /// what becomes of what is not finite. Threads, micro-batches and budgets change no bit.
  Checkpoint state() const {
    take_losses();
    return or_memory_error("the state of a session", [&] { return State::read(*this); });
  }
  /// Errors: FileError for a state of another net, optimizer, block length or reduction, by name; OptionError for a window
  /// that does not fit this session's. Nothing is changed then.
  void restore(const Checkpoint& state) {
    require_transient();
    take_losses();
    or_memory_error("restoring a session", [&] { State::write(*this, state); });
  }
  /// The same through a file, written atomically. Errors: also FileError for a file that is damaged.
  void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] { save(path, state()); });
  }
  void load_state(const std::string& path) {
    or_memory_error("loading a state", [&] { detail::in_file(path, [&](const Checkpoint& file) { restore(file); }); });
  }

  /// Until the device has done all that it was asked for; what reads anything of it waits by itself.
  void wait() const { arena_.queue().wait(); }

  /// By position or by name. A view, through which they can be changed; a copy where the backend has memory of its own.
  auto parameters() const { return view_of(arena_.parameters()); }
  /// The parameters' average that an `Ema` in the optimizer keeps; zero before the first step.
  auto averaged_parameters() const
    requires(average_state<Rule> >= 0)
  {
    return view_of(arena_.state(average_state<Rule>));
  }
  /// All of them, parameter after parameter. Errors: DataError for another number of values.
  void set_parameters(std::span<const float> values) {
    if (static_cast<std::int64_t>(values.size()) != Net::parameter_elements)
      throw DataError("set_parameters: the net has " + std::to_string(Net::parameter_elements) + " parameters, got " +
                      std::to_string(values.size()));
    arena_.queue().write(arena_.parameters(), values.data(), Net::parameter_elements * 4);
  }
  /// Everything that training changes between windows: parameters and optimizer state, as bytes; views or copies.
  auto parameter_bytes() const { return bytes_of(arena_.parameters(), memory().parameters); }
  auto optimizer_state_bytes() const { return bytes_of(arena_.state(0), memory().optimizer_state); }
  /// The session's own copy of an opaque optimizer, or the one that it refers to.
  auto& optimizer()
    requires(Opaque::exists)
  {
    return opaque_.optimizer();
  }
  /// The window's summed gradients so far, parameter after parameter, times the loss scale: floats, or doubles of wider sums.
  auto accumulator() const { return arena_.sums(position_ > 0); }
  std::span<std::byte> transient_bytes() const { return arena_.transient_bytes(); }
  const Averages& last_window() const { return last_; }
  const MemoryTable& memory() const { return arena_.table(); }
  /// What the session's two blocks hold; what `memory().total()` planned.
  std::int64_t allocated_bytes() const { return arena_.bytes(); }
  /// What is held beside them of the host's memory, that copies to and from a device need; what `memory().pinned`
  /// planned.
  std::int64_t pinned_bytes() const { return arena_.queue().pinned_bytes(); }
  std::int64_t step_count() const { return step_count_; }
  /// Samples that the window has taken, without those of dropped micro-batches.
  std::int64_t position() const { return position_; }
  /// The position at which the window that has begun is full, unless its weights fill it before.
  std::int64_t window() const { return again() ? again_ : detail::window_samples(options_, step_count_) - dropped_; }
  /// Windows, and micro-batches, since this session was made that were dropped because their loss or gradient was not finite.
  std::int64_t dropped_windows() const { return dropped_windows_; }
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }
  /// The noise of the last window's gradient between batches of `noise_batch` samples, of which the first begins with the
  /// window: the same bits however it was cut. Of no window where it was not measured: it had but one of them, made no step, or
  /// was restored after it had begun.
  const GradientNoise& gradient_noise() const { return noise_.last(); }
  /// By what the losses of the window that has begun are scaled; 1 where no `LossScale` does.
  double loss_scale() const { return scaler_.scale(); }
  const SessionOptions& options() const { return options_; }

 private:
  auto view_of(float* values) const {
    if constexpr (Net::Backend::shares_host_memory) return ParametersView<Net>(values);
    else return ParametersCopy<Net>(arena_.queue().view(values, Net::parameter_elements));
  }
  auto bytes_of(const float* values, std::int64_t bytes) const {
    return arena_.queue().view(reinterpret_cast<const std::byte*>(values), bytes);
  }

  static SessionOptions with_free_memory(SessionOptions options) {
    if (options.memory_budget.follows) options.memory_budget.bytes = Net::Backend::free_memory();
    return options;
  }
  /// On the device, beside what this session holds.
  Budget what_is_free() const { return Net::Backend::free_memory() + arena_.bytes(); }
  /// Where a window begins: takes what is free, where that allows for more.
  void follow_memory() {
    if (options_.memory_budget.follows && position_ == 0) set_budget(options_.memory_budget);
  }
  void require_transient() {
    arena_.require_transient();
    options_.micro_batch = arena_.micro_batch();
  }

  /// Steps where a window is full but its step failed; `discard` leaves it.
  int finish_full_window() { return every_ == 0 && position_ > 0 && full() ? step() : 0; }
  bool full() const { return position_ == window() || window_.weight() >= detail::full_weight(options_, step_count_); }

  /// `room`: samples that the window has not yet taken, after those that brought it to `position`.
  std::int64_t next_part(std::int64_t left, std::int64_t room, std::int64_t position) const {
    const std::int64_t part = noise_.within_batch(std::min(left, options_.micro_batch), position);
    return every_ == 0 ? std::min(part, room) : part;
  }

  /// Where weight gradients have no memory for an open block, a part must end on a block or with its window.
  void check_blocks(std::int64_t count) const {
    if (arena_.plan().layout().choice.open_blocks) return;
    std::int64_t position = position_, room = window() - position_;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = next_part(count - done, room, position);
      position += part;
      room -= part;
      done += part;
      if (every_ == 0 && room == 0) position = 0, room = options_.global_batch;
      else if (position % Layout::block_samples() != 0)
        throw OptionError("accumulate: a part of " + std::to_string(part) + " samples ends inside a block of " +
                          std::to_string(Layout::block_samples()) + "; OpenBlocks::always allows parts of any size");
    }
  }

  /// Returns how many of `part` samples were taken: all, or those until the window's weight was reached. `last`: the
  /// window ends with all.
  std::int64_t run_part(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples = nullptr) {
    StepArguments arguments = arena_.arguments(part, position_, position_ == 0, last);
    arguments.random = {true, options_.seed, round, samples, position_};
    if constexpr (ahead)
      if (!decides()) return run_ahead(arguments);
    take_losses();
    const Averages before = window_;
    bool adding = false;
    try {
      if (position_ == 0) arena_.queue().template run<Training, Phase::prologue>(arguments);
      arena_.queue().template run<Training, Phase::forward>(arguments);
      arguments.batch = add_losses(window_, part, detail::full_weight(options_, step_count_));
      arguments.last = last || window_.weight() >= detail::full_weight(options_, step_count_);
      if (undoes() && !window_.finite()) return drop_part(before, arguments.batch);
      if (undoes() && position_ > 0) arena_.keep_sums(position_);
      adding = true;
      arena_.queue().template run<Training, Phase::backward>(arguments);  // of samples that were taken, the first
      if (undoes() && !arena_.sums_are_finite(position_ + arguments.batch, arguments.last)) {
        undo_sums();
        return drop_part(before, arguments.batch);
      }
    } catch (...) {
      window_ = before;
      if (adding) undo_or_forget();
      throw;
    }
    return advance(arguments);
  }

  /// Whether the window goes on in a way that depends on a part's losses or gradients.
  bool decides() const {
    return undoes() || detail::full_weight(options_, step_count_) < std::numeric_limits<double>::infinity();
  }
  /// Asks for all of a part and waits for none of it, but for the losses of the part before the last.
  std::int64_t run_ahead(const StepArguments& arguments) {
    try {
      coming_.push(fetch_losses(arguments.batch, [&](auto... arrays) {
        return arena_.queue().template run_part<Training>(arguments, arrays...);
      }));
      take_losses(Queue::places - 1);
    } catch (...) {
      discard();
      throw;
    }
    return advance(arguments);
  }
  /// Counts a micro-batch that has been asked for. Returns its samples.
  std::int64_t advance(const StepArguments& arguments) {
    position_ += arguments.batch;
    closed_ = arguments.last;
    if (!closed_) measure_noise();
    return arguments.batch;
  }
  /// Adds the losses of all parts but the last `left`, which may not have come.
  void take_losses(int left = 0) const { coming_.add_to(window_, arena_.queue(), left); }

  void measure_noise() {
    if (options_.noise_batch == 0) return;
    try {
      take_losses();
      noise_.add(arena_, position_, window_.weight());
    } catch (...) {  // the device failed
      discard();
      throw;
    }
  }

  bool undoes() const { return options_.non_finite == NonFinite::drop_micro_batch; }
  /// A window without samples has no sums: the next part begins them.
  void undo_sums() {
    if (position_ > 0) arena_.restore_sums(position_);
  }
  /// The window goes on as if these samples had not been among those it was to take.
  [[gnu::cold]] std::int64_t drop_part(const Averages& before, std::int64_t samples) {
    window_ = before;
    dropped_ += samples;
    ++dropped_micro_batches_;
    return samples;
  }
  /// The device failed while a part was added.
  [[gnu::cold]] void undo_or_forget() {
    if (undoes()) try {
        return undo_sums();
      } catch (const Error&) {  // it fails for ever
      }
    discard();
  }

  /// Adds samples until the weight is `full`, and returns how many.
  std::int64_t add_losses(Averages& sums, std::int64_t samples, double full) {
    const detail::FetchedLosses part =
        fetch_losses(samples, [&](auto... arrays) { return arena_.queue().fetch(arrays...); });
    arena_.queue().wait_for(part.place);
    if (full < std::numeric_limits<double>::infinity())
      samples = detail::samples_until_full(sums, full, part.weights, Arena::loss_unit, samples);
    sums.add(part.values, part.weights, Arena::loss_unit * samples);
    return samples;
  }
  /// `fetch`: as a queue's.
  template <class F>
  detail::FetchedLosses fetch_losses(std::int64_t samples, F fetch) const {
    constexpr int weight = Training::root(Role::weight);
    detail::FetchedLosses part{{arena_.stored(Training::root(Role::loss))}, nullptr, Arena::loss_unit * samples, 0};
    for (int m = 0; m < metrics; ++m) part.values[m + 1] = arena_.stored(Training::root(Role::metric, m));
    if constexpr (weight >= 0) part.values[metrics + 1] = arena_.stored(weight);
    part.place = fetch(part.values, metrics + (weight < 0 ? 1 : 2), Arena::loss_unit);
    if constexpr (weight >= 0) part.weights = part.values[metrics + 1];
    return part;
  }

  /// Ends the window: the batch-free rest of backward, then the inner optimizer, once.
  int step() {
    take_losses();
    check_weight(window_.weight());
    close_blocks();
    const Averages window = window_;
    const std::int64_t samples = position_;
    const bool emptied = position_ == 0, whole = dropped_ == 0, first = twice && !again();
    const detail::NoiseSums noise = noise_.end_window();
    const double scale = scaler_.scale();
    clear_window();
    if (again()) detail::check_given_again(samples, window, again_, last_);
    else last_ = window;
    if (emptied) ++dropped_windows_;  // nothing is left of it
    if (window.weight() == 0) {
      if (!whole) end_scale(false);
      return 0;
    }
    const double divisor = detail::divisor(options_, window.weight());
    arena_.finish_gradients(divisor);
    const bool finite = window.finite() && step_if_finite([&] {
      noise_.finish(arena_, noise, window.weight(), scale);
      update(divisor, scale, first ? Evaluation::first : Evaluation::second);
    });
    if (!first || !finite) end_scale(finite && whole);
    if (!finite) return drop_window();
    again_ = first ? samples : 0;
    step_count_ += first ? 0 : 1;
    return first ? 0 : 1;
  }

  /// Makes the step where all gradients are finite. Returns whether. A device that runs kernels alone need not wait
  /// until the host knows.
  template <class F>
  bool step_if_finite(F make) {
    Queue& queue = arena_.queue();
    if (!Opaque::exists && options_.noise_batch == 0)
      return queue.template run_if_finite<typename Layout::UpdateProgram>(arena_.gradients(), Net::parameter_elements,
                                                                          make);
    const bool finite = queue.all_finite(arena_.gradients(), Net::parameter_elements);
    if (finite) make();
    return finite;
  }

  void clear_window() {
    coming_.forget();
    window_ = Averages(metrics);
    position_ = calls_ = dropped_ = 0;
    closed_ = true;
    noise_.begin_window();
  }

  /// To the parameters, where the window was to be evaluated again.
  void go_back() {
    if (!again()) return;
    require_transient();
    update(1, 1, Evaluation::back);
    again_ = 0;
  }

  /// The scale of the next window's loss, after one in which all was finite or not.
  void end_scale(bool finite) {
    const double before = scaler_.scale();
    scaler_.end_window(finite);
    if (scaler_.scale() != before) arena_.set_loss_scale(scaler_.scale());
  }

  /// The window has ended already; its step is not made. Errors: NonFiniteError where that is asked for.
  [[gnu::cold]] int drop_window() {
    ++dropped_windows_;
    if constexpr (twice) go_back();
    if (options_.non_finite != NonFinite::raise) return 0;
    std::string what = "the loss";
    for (int p = 0; p < Net::parameter_count; ++p)
      if (!arena_.queue().all_finite(arena_.gradients() + Net::parameter_offset(p), Net::parameter(p).shape.unit()))
        what = "the gradient of '" + Net::parameter(p).name.string() + "'";
    throw NonFiniteError("step " + std::to_string(step_count_ + 1) + ": " + what +
                         " is not finite; the window is dropped, nothing is changed");
  }

  /// The inner optimizer, once, on the summed gradient of a loss that was scaled.
  void update(double weight, double scale, Evaluation evaluation = Evaluation::second) {
    arena_.update(numbers_.in_step(step_count_, weight, scale, evaluation));
    if constexpr (Opaque::exists) opaque_.step(arena_);
  }

  SessionOptions options_;
  std::int64_t every_;  // calls of a window; 0: it is counted in samples
  detail::LossScaler scaler_;
  detail::UpdateNumbers<Net, Layout, Rule> numbers_;
  Arena arena_;
  Opaque opaque_;
  detail::NoiseMeasure noise_;
  mutable Averages window_{metrics};  // without what has not come
  mutable detail::LossesAhead coming_;
  Averages last_{metrics};
  std::int64_t position_ = 0, calls_ = 0, dropped_ = 0, step_count_ = 0;
  std::int64_t dropped_windows_ = 0, dropped_micro_batches_ = 0;
  std::int64_t again_ = 0;  // samples of the window that must be given again
  bool closed_ = true;
};

template <class Net, class Optimizer>
Session(Net, Optimizer, SessionOptions) -> Session<Net, Optimizer>;

}  // namespace gradual
