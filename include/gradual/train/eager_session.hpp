#pragma once
#include <algorithm>
#include <bit>
#include <vector>

#include <gradual/eager/host_copy.hpp>
#include <gradual/eager/window_sums.hpp>
#include <gradual/train/eager_losses.hpp>
#include <gradual/train/eager_state.hpp>
#include <gradual/train/eager_update.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

/// One model being trained whose sizes, or whose very computation, are known only at run time: it is recorded anew, op
/// by op, for each part of a batch. The window's rules and bits are those of a compiled session. `open_blocks` means
/// nothing here: open blocks are kept where they are needed.
template <class Optimizer>
class Session<Parameters, Optimizer, Inputs<>> {
  using Rule = RuleOf<Optimizer>;
  using OpaqueStep = detail::OpaqueStep<Optimizer>;
  using State = detail::SessionState<Parameters, Optimizer, Inputs<>>;
  friend State;
  friend detail::NoiseMeasure;
  static constexpr int states = detail::state_size<StateOf<Rule>>();
  static constexpr bool twice = evaluates_twice<Rule>;
  static_assert(std::is_same_v<ShadowOf<Optimizer>, float>, "an eager session's sums are held in float");

 public:
  /// Gives the parameters their initial values, by the options' seed, unless they have values already. They must outlive
  /// the session. Errors: OptionError for sizes or threads that are not positive, and a name to freeze that no
  /// parameter has; MemoryError; TapeError for parameters that were declared after others had been given values.
  Session(Parameters& parameters, const Optimizer& optimizer, const SessionOptions& options)
  try : options_(checked(options, calls_of(optimizer), parameters.device())), scaler_(detail::LossScaler::of(rule_of(optimizer))),
        parameters_(&initialized(parameters, options.seed)), queue_(options.threads), sums_(parameters, queue_.pool()),
        frozen_(options.freeze, parameters.declared()),
        update_(parameters.device(), rule_of(optimizer), parameters.declared()), opaque_(optimizer),
        noise_(options_.noise_batch) {
    every_ = calls_of(optimizer);
    if (every_ != 0 && detail::windows_vary(options_)) throw OptionError("Session: windows of calls have neither samples nor a weight");
    if constexpr (twice) detail::check_ends_known(options_);
    gradient_ = parameters.device().allocate(elements() * 4, Category::gradients);
    if (options_.noise_batch > 0)
      for (eager::Storage& sums : so_far_) sums = parameters.device().allocate(elements() * 4, Category::gradients);
    for (int i = 0; i < states; ++i) {
      const std::int64_t bytes = update_.parts().elements(2 + i) * 4;
      state_[i] = parameters.device().allocate(bytes, Category::optimizer_state);
      device().clear(state_[i].data(), bytes);
    }
    aside_ = parameters.device().allocate(frozen_.bytes(states + 2, bytes_of_part()), Category::workspace);
    begin_states(rule_of(optimizer));
    if constexpr (OpaqueStep::exists) begin_opaque();
  } catch (const std::bad_alloc&) {
    throw MemoryError("a session: the system refused memory");
  }

  /// Adds the gradients of `samples` samples to the window and steps whenever it is full. `record(tape)` records the
  /// loss of one part: `tape.input` takes the values of all samples and picks those of the part. It is called once for
  /// each part: the whole batch, cut to `micro_batch` and at the window's end; and once more where a part's weights fill
  /// the window before it ends, or where there is no memory for a part: then for smaller ones, down to one sample, to the
  /// same bits. Returns the number of steps made.
  /// Errors, before anything of the part is added: those of `record`, DataError for labels outside the classes and
  /// values that are not finite, MemoryError where no smaller part may be tried; OptionError for a batch that goes on into
  /// the next window where the optimizer evaluates each window twice. A GPU that fails while a part is added (DeviceError)
  /// ends the window, of which nothing is kept, but for the parts before where there is a copy of their sums (NonFinite).
  template <class Record>
  int accumulate(std::int64_t samples, Record record) {
    if (samples <= 0) throw DataError("a batch of " + std::to_string(samples) + " samples");
    if constexpr (twice)
      if (every_ == 0) detail::check_room(samples, window() - (full() ? 0 : position_));
    int steps = 0;
    std::int64_t most = options_.micro_batch;
    for (std::int64_t done = 0; done < samples;) {
      if (every_ == 0 && position_ > 0 && full()) steps += step();  // one that failed before
      std::int64_t part = noise_.within_batch(std::min(samples - done, most), position_);
      if (every_ == 0) part = std::min(part, window() - position_);
      try {
        done += or_memory_error("accumulate", [&] { return add_part(done, part, samples, record); });
      } catch (const MemoryError&) {
        sums_.forget_part();
        if (part == 1 || options_.non_finite == NonFinite::drop_micro_batch) throw;
        most = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(part - 1)));  // it may end on blocks
        continue;
      }
      if (every_ == 0 ? full() : done == samples && ++calls_ == every_) steps += step();
    }
    return steps;
  }

  /// Steps on what is left in an unfinished window. Returns the number of steps made, 0 or 1. Errors: MemoryError; TapeError
  /// where the window was restored and a computation of its parts has not been recorded since.
  int flush() { return position_ + dropped_ == 0 && !again() ? 0 : step(); }
  /// As that of a compiled session.
  bool again() const { return again_ > 0; }

  /// Forgets the window that has begun.
  void discard() {
    clear_sums();
    go_back();
  }

  /// Weighted means of the loss and the metrics that `record` records; nothing is learned.
  template <class Record>
  Averages evaluate(std::int64_t samples, Record record) {
    if (again()) throw OptionError("evaluate: the parameters are elsewhere until the window is given again");
    Averages result;
    for (std::int64_t done = 0; done < samples;) {
      const std::int64_t part = std::min(options_.micro_batch, samples - done);
      EagerTape& tape = sums_.next_tape(done, part, samples, false);
      tape.training = false;
      record_loss(tape, widened(record(tape)));
      detail::validate(tape);
      const detail::EagerLosses losses = detail::losses_of(tape);
      if (done == 0) result = Averages(losses.metrics);
      result.add(losses.values, losses.weight, losses.count);
      tape.forget();
      done += part;
    }
    return result;
  }

  /// Everything that training changes, also inside a window: a session that restores it goes on to the same bits. Between
  /// windows a compiled session of the same parameters and optimizer can restore it, and the other way round.
  Checkpoint state() const {
    return or_memory_error("the state of a session", [&] { return State::read(*this); });
  }
  /// A window that had begun can end once each of the computations that its parts had before has been recorded again.
  /// Errors: FileError for a state of other parameters, another optimizer, block length or reduction, by name, or of a
  /// window that a compiled session began; OptionError for a window that does not fit this session's. Nothing is changed then.
  void restore(const Checkpoint& state) {
    or_memory_error("restoring a session", [&] { State::write(*this, state); });
  }
  /// The same through a file, written atomically. Errors: also FileError for a file that is damaged.
  void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] { save(path, state()); });
  }
  void load_state(const std::string& path) {
    or_memory_error("loading a state", [&] { detail::in_file(path, [&](const Checkpoint& file) { restore(file); }); });
  }

  Parameters& parameters() const { return *parameters_; }
  /// What the host reads of arrays on a GPU are copies, each valid until it is asked for again.
  std::span<const std::byte> parameter_bytes() const { return std::as_bytes(on_host(0)); }
  /// State `index` of the optimizer, parameter after parameter.
  std::span<const float> optimizer_state(int index) const { return on_host(2 + index); }
  /// The session's own copy of an opaque optimizer, or the one that it refers to.
  auto& optimizer()
    requires(OpaqueStep::exists)
  {
    return opaque_.optimizer();
  }
  /// The summed gradients of the last window that was stepped on, parameter after parameter, times the loss scale.
  std::span<const float> last_gradient() const { return on_host(1); }
  const Averages& last_window() const { return last_; }
  std::int64_t step_count() const { return step_count_; }
  /// Samples that the window has taken, without those of dropped micro-batches.
  std::int64_t position() const { return position_; }
  /// The position at which the window that has begun is full, unless its weights fill it before.
  std::int64_t window() const { return again() ? again_ : detail::window_samples(options_, step_count_) - dropped_; }
  /// Windows, and micro-batches, since this session was made that were dropped because their loss or gradient was not finite.
  std::int64_t dropped_windows() const { return dropped_windows_; }
  std::int64_t dropped_micro_batches() const { return dropped_micro_batches_; }
  /// As that of a compiled session; of no window either where there was no memory to measure it.
  const GradientNoise& gradient_noise() const { return noise_.last(); }
  /// By what the losses of the window that has begun are scaled; 1 where no `LossScale` does.
  double loss_scale() const { return scaler_.scale(); }
  const SessionOptions& options() const { return options_; }

 private:
  static SessionOptions checked(const SessionOptions& options, std::int64_t calls, const Device& device) {
    if (!device.shares_host_memory() && options.threads != 1)
      throw OptionError("Session: " + std::to_string(options.threads) + " threads on " + device.name());
    return detail::checked_eager(options, calls);
  }
  static Parameters& initialized(Parameters& parameters, std::uint64_t seed) {
    if (!parameters.initialized()) parameters.initialize(seed);
    parameters.require_values();
    return parameters;
  }
  void begin_states(const Rule& rule) {
    check_names(rule, [&](std::string_view pattern) {
      return std::ranges::any_of(parameters_->declared(), [&](const ParameterInfo& info) { return matches(pattern, info.name.view()); });
    });
    for (int i = 0; i < states; ++i)
      for (int p = 0; p < parameters_->size(); ++p) {
        const std::span<float> values = part(2 + i, p);
        const float first = initial_state(rule, i, parameters_->declared()[static_cast<std::size_t>(p)].name.view());
        device().write(values.data(), std::ssize(values), [&](std::span<float> all) { std::ranges::fill(all, first); });
      }
  }
  /// An opaque optimizer is given arrays of the host: those of the session or, on a GPU, copies.
  void begin_opaque() {
    float *values = array(0), *gradients = array(2);
    if (!device().shares_host_memory()) {
      opaque_arrays_.resize(static_cast<std::size_t>(2 * elements()));
      values = opaque_arrays_.data(), gradients = values + elements();
    }
    for (int p = 0; p < parameters_->size(); ++p) {
      const ParameterInfo& info = parameters_->declared()[static_cast<std::size_t>(p)];
      const std::int64_t offset = parameters_->offsets()[static_cast<std::size_t>(p)];
      if (!frozen_.contains(p)) opaque_.add(info.name.view(), info.shape, values + offset, gradients + offset);
    }
  }
  void step_opaque() {
    if (device().shares_host_memory()) return opaque_.step();
    device().read(opaque_arrays_.data(), array(0), elements() * 4);
    device().read(opaque_arrays_.data() + elements(), array(2), elements() * 4);
    opaque_.step();
    device().copy(array(0), opaque_arrays_.data(), elements() * 4);
  }
  const Device& device() const { return parameters_->device(); }
  std::int64_t elements() const { return parameters_->offsets().back(); }

  /// The arrays of an update, on the device: parameters, gradients, states; and parameter p's part of one.
  float* array(int a) const {
    return a == 0 ? parameters_->data() : a == 1 ? gradient_.as<float>() : state_[a - 2].template as<float>();
  }
  std::span<float> part(int a, int p) const {
    return {array(a) + update_.parts().part_begin(a, p), static_cast<std::size_t>(update_.parts().part_elements(a, p))};
  }
  auto bytes_of_part() const {
    return [this](int a, int p) { return std::as_writable_bytes(part(a, p)); };
  }
  std::span<const float> on_host(int a) const {
    return copies_[a].of(device(), array(a), a < 2 ? elements() : update_.parts().elements(a));
  }
  /// Calls f(what copies and clears the arrays).
  template <class F>
  void on_queue(F f) const {
    if (device().shares_host_memory()) f(queue_);
    else f(device());
  }

  bool full() const { return position_ == window() || window_.weight() >= detail::full_weight(options_, step_count_); }

  /// Samples of the recorded part until the window's weight is reached.
  std::int64_t samples_until_full(EagerTape& tape, const Loss& loss, std::int64_t part) const {
    const double full = detail::full_weight(options_, step_count_);
    if (full == std::numeric_limits<double>::infinity() || !loss.value.valid()) return part;
    if (loss.weight.valid() && loss.weight.dtype() != DType::f32) return part;  // refused by `losses_of`
    const void* const weight = loss.weight.valid() ? tape.values().on_host(tape, loss.weight.id) : nullptr;
    return detail::samples_until_full(position_ == 0 ? Averages() : window_, full, static_cast<const float*>(weight),
                                      loss.value.shape().unit(), part);
  }

  /// Returns how many samples of the part were taken.
  template <class Record>
  std::int64_t add_part(std::int64_t first, std::int64_t part, std::int64_t given, Record& record) {
    EagerTape& tape = sums_.next_tape(first, part, given);
    tape.training = true;
    tape.values().bind_random({true, options_.seed, static_cast<std::uint64_t>(step_count_), nullptr, position_});
    const Loss loss = widened(record(tape));
    if (const std::int64_t taken = samples_until_full(tape, loss, part); taken < part) return add_part(first, taken, given, record);
    {
      const eager::Executor::Noting noting(tape.values());
      record_gradients(tape, loss, space_, loss_scales<Rule> > 0 ? value_of(scaler_.scale(), loss.value) : Var{});
    }
    detail::validate(tape);
    const detail::EagerLosses losses = detail::losses_of(tape);
    const bool last = every_ == 0 && position_ + part == window();
    const bool undoable = options_.non_finite == NonFinite::drop_micro_batch;
    if (position_ == 0) window_ = Averages(losses.metrics);
    Averages with_part = window_;
    with_part.add(losses.values, losses.weight, losses.count);
    const bool fine = !undoable || with_part.finite();
    if (fine) sums_.reserve(position_, last, undoable);
    if (!fine || !add_to_sums(last, undoable)) return drop_part(tape, part);
    window_ = with_part;
    position_ += part;
    if (every_ != 0 || !full()) measure_noise();
    return part;
  }

  /// Where a device fails in between, and nothing undoes the part, the window begins anew.
  bool add_to_sums(bool last, bool undoable) {
    try {
      return sums_.add(position_, last);
    } catch (const DeviceError&) {
      if (!undoable) clear_sums();
      throw;
    }
  }

  /// Where there is no memory for that, the window is not measured.
  void measure_noise() {
    try {
      or_memory_error("the gradient's noise", [&] { noise_.add(*this, position_, window_.weight()); });
    } catch (const MemoryError&) {
      noise_.give_up();
    }
  }
  /// Gradients of a window that went on, on the host.
  std::span<const float> so_far(int which) const {
    return so_far_copies_[which].of(device(), so_far_[which].template as<float>(), elements());
  }
  /// Of gradients that are not frozen, against those that were looked at before in the window; `first`: none were.
  detail::GradientSquares squares(std::span<const float> now, bool first) const {
    detail::GradientSquares result;
    const std::span<const float> before = first ? std::span<const float>() : so_far(0);
    for (int p = 0; p < parameters_->size(); ++p) {
      if (frozen_.contains(p)) continue;
      const auto begin = static_cast<std::size_t>(parameters_->offsets()[static_cast<std::size_t>(p)]);
      const auto end = static_cast<std::size_t>(parameters_->offsets()[static_cast<std::size_t>(p) + 1]);
      result.add(now.subspan(begin, end - begin), first ? std::span<const float>() : before.subspan(begin, end - begin));
    }
    return result;
  }
  /// Of the complete gradients of a window.
  detail::GradientSquares square_gradients(bool first) const { return squares(last_gradient(), first); }
  /// Of a window of this weight that goes on. Errors: MemoryError.
  detail::GradientSquares square_so_far(std::int64_t /*position*/, double weight, bool first) {
    sums_.finish_copy({so_far_[1].template as<float>(), static_cast<std::size_t>(elements())}, weight);
    const detail::GradientSquares result = squares(so_far(1), first);
    std::swap(so_far_[0], so_far_[1]);
    return result;
  }

  /// The window goes on as if these samples had not been among those it was to take.
  std::int64_t drop_part(EagerTape& tape, std::int64_t samples) {
    tape.forget();
    dropped_ += samples;
    ++dropped_micro_batches_;
    return samples;
  }

  /// Ends the window: what no sample enters of backward, then the inner optimizer, once.
  int step() {
    return or_memory_error("a step", [&] { return finish_window(); });
  }
  int finish_window() {
    check_weight(window_.weight());
    if (again()) try {
        detail::check_given_again(position_, window_, again_, last_);
      } catch (...) {
        clear_sums();
        throw;
      }
    const bool emptied = position_ == 0, whole = dropped_ == 0;
    const detail::NoiseSums noise = noise_.end_window();
    if (!emptied) sums_.finish({gradient_.as<float>(), static_cast<std::size_t>(elements())}, detail::divisor(options_, window_.weight()));
    const bool finite = emptied || (window_.finite() && gradient_is_finite());
    const bool first = twice && !again(), moves = finite && window_.weight() != 0, steps = moves && !first;
    if (moves) {
      noise_.finish(*this, noise, window_.weight(), scaler_.scale());
      update(first ? Evaluation::first : Evaluation::second);
      if constexpr (OpaqueStep::exists) step_opaque();
      step_count_ += steps;
    }
    if (!again()) last_ = window_;
    if (moves) again_ = first ? position_ : 0;
    clear_sums();
    if (steps || !finite || !whole) scaler_.end_window(finite && whole);
    if (emptied) ++dropped_windows_;  // nothing is left of it
    if (!finite) drop_window();
    return steps ? 1 : 0;
  }

  bool gradient_is_finite() const {
    if (!device().shares_host_memory()) return device().all_finite(array(1), elements());
    return queue_.all_finite(array(1), elements());
  }

  void clear_sums() {
    sums_.clear();
    noise_.begin_window();
    position_ = calls_ = dropped_ = 0;
  }
  /// To the parameters, where the window was to be evaluated again.
  void go_back() {
    if (!again()) return;
    update(Evaluation::back);
    again_ = 0;
  }

  /// The rule, once. Errors: MemoryError; nothing but the window's gradient is changed then.
  void update(Evaluation evaluation) {
    float* arrays[states + 2];
    for (int a = 0; a < states + 2; ++a) arrays[a] = array(a);
    on_queue([&](const auto& queue) { frozen_.keep(queue, states + 2, bytes_of_part(), aside_.data()); });
    const auto put_back = [&] {
      on_queue([&](const auto& queue) { frozen_.restore(queue, states + 2, bytes_of_part(), aside_.data()); });
    };
    try {
      update_.run(queue_, arrays, detail::divisor(options_, window_.weight()), step_count_, evaluation, scaler_.scale());
    } catch (...) {
      put_back();
      throw;
    }
    put_back();
  }

  /// The window has ended already; its step was not made. Errors: NonFiniteError where that is asked for.
  void drop_window() {
    ++dropped_windows_;
    go_back();
    if (options_.non_finite != NonFinite::raise) return;
    std::string what = "the loss";
    for (int p = 0; p < parameters_->size(); ++p)
      if (const std::span<float> gradient = part(1, p); !device().all_finite(gradient.data(), std::ssize(gradient)))
        what = "the gradient of '" + parameters_->declared()[static_cast<std::size_t>(p)].name.string() + "'";
    throw NonFiniteError("step " + std::to_string(step_count_ + 1) + ": " + what +
                         " is not finite; the window is dropped, nothing is changed");
  }

  SessionOptions options_;
  detail::LossScaler scaler_;
  Parameters* parameters_;
  Cpu::Queue queue_;
  eager::WindowSums sums_;
  Frozen frozen_;
  EagerUpdate<Rule> update_;
  OpaqueStep opaque_;
  detail::NoiseMeasure noise_;
  eager::Storage so_far_[2];  ///< gradients of a window that went on: those that were looked at last, and room for the next
  eager::Storage gradient_, aside_, state_[states > 0 ? states : 1];
  eager::HostCopy copies_[2 + states], so_far_copies_[2];
  std::vector<float> opaque_arrays_;  ///< parameters and gradients, where the host cannot read the session's
  BackwardSpace space_;
  Averages window_, last_;
  std::int64_t position_ = 0, calls_ = 0, every_ = 0, dropped_ = 0, step_count_ = 0;
  std::int64_t dropped_windows_ = 0, dropped_micro_batches_ = 0;
  std::int64_t again_ = 0;  ///< samples of the window that must be given again
};

template <class Optimizer>
Session(Parameters&, Optimizer, SessionOptions) -> Session<Parameters, Optimizer, Inputs<>>;

}  // namespace gradual
