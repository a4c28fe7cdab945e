#pragma once
#include <algorithm>
#include <cstring>
#include <memory>

#include <gradual/autodiff/in_place.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/ema.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/averages.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/initialize.hpp>
#include <gradual/train/session_options.hpp>
#include <gradual/train/session_plan.hpp>
#include <gradual/train/session_state.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

template <class Net, class Optimizer, class In = typename Net::InputTypes>
class Session;

/// One model being trained. Everything it needs is allocated in its constructor, and when it is told to plan again.
template <class Net, class Optimizer, class... T>
class Session<Net, Optimizer, Inputs<T...>> {
  using Rule = RuleOf<Optimizer>;
  using Layout = TrainingLayout<Net, Rule>;
  using Backend = typename Net::Backend;
  using Training = typename Layout::Training;
  using UpdateProgram = typename Layout::UpdateProgram;
  using State = detail::SessionState<Net, Optimizer, Inputs<T...>>;
  friend State;
  static constexpr int metrics = Training::count_of(Role::metric);
  static constexpr int inputs = sizeof...(T);
  static constexpr std::int64_t loss_unit = Training::graph.nodes[Training::root(Role::loss)].shape.unit();
  static_assert(updates_in_place<UpdateProgram>(), "the rule reads a value after the kernel that replaces it");

 public:
  /// Errors: OptionError for sizes that are not positive or a name to freeze that no parameter has; ShapeError for sizes
  /// that cannot be counted; MemoryError where the budget is too small or the system refuses; NumericsError.
  [[gnu::cold]] Session(Net, const Optimizer& optimizer, const SessionOptions& options)
  try : options_(detail::checked(options)), every_(calls_of(optimizer)), frozen_(options_.freeze),
        plan_(options_, every_ != 0, frozen_.elements()), persistent_((Backend::check_numerics(), plan_.table().persistent())),
        queue_(options_.threads),scalars_(collect_scalars(optimizer)) {
    place_persistent();
    take_transient();
    auto initial = parameters();
    initialize<Net>(initial, options_.seed);
    set_parameters(initial.values());
    begin_states(rule_of(optimizer));
  } catch (const std::bad_alloc&) {
    throw MemoryError("a session: the system refused memory");
  }

  /// Adds the gradients of these samples to the window and steps whenever it is full; batches of any size are cut to
  /// the planned micro-batch and at the window's end. Spans are read in place. Returns the number of steps made.
  /// Errors, before anything is changed: DataError for spans that do not fit each other, labels outside the classes,
  /// values that are not finite; OptionError for a batch that ends inside a block that has no memory.
  int accumulate(std::span<const std::remove_all_extents_t<T>>... data) {
    const std::int64_t count = validate<Training, T...>(data...);
    check_blocks(count);
    require_transient();
    int steps = finish_full_window();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = next_part(count - done, position_);
      bind(done, part, data...);
      run_part(part, every_ == 0 && position_ + part == options_.global_batch, static_cast<std::uint64_t>(step_count_));
      done += part;
      const bool full = every_ == 0 ? position_ == options_.global_batch : done == count && ++calls_ == every_;
      if (full) steps += step();
    }
    return steps;
  }

  /// The same with samples `rows` of a whole data set, copied together first; `last`: the window ends with them. Random
  /// numbers are keyed by epoch and place in the data set. The data set must have been validated. Needs `gather`; returns
  /// the number of steps made.
  int accumulate_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last,
                      std::span<const std::remove_all_extents_t<T>>... data) {
    require_transient();
    int steps = finish_full_window();
    const auto count = static_cast<std::int64_t>(rows.size());
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = next_part(count - done, position_);
      gather(rows.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part)), data...);
      done += part;
      const bool ends = position_ + part == options_.global_batch || (last && done == count);
      run_part(part, ends, epoch, rows.data() + done - part);
      if (ends) steps += step();
    }
    return steps;
  }

  /// Steps on what is left in an unfinished window. Returns the number of steps made, 0 or 1.
  int flush() {
    if (position_ == 0) return 0;
    require_transient();
    close_blocks();
    return step();
  }

  /// Adds the window's unfinished blocks to the accumulator, as `flush` does before it steps: what was accumulated so
  /// far can then be read. Done once; the window cannot be continued.
  void close_blocks() {
    if (closed_) return;
    closed_ = true;
    for (int i = 0; i < Layout::nodes; ++i) {
      const std::int64_t p = Layout::is_cut(i) ? Layout::positions(i) : 1;
      if (open_[i] == nullptr || block_begin(position_ * p, p) == position_ * p) continue;
      queue_.add(static_cast<float*>(address_[i]), static_cast<const float*>(open_[i]), Training::graph.nodes[i].shape.unit());
    }
  }

  /// Forgets the window that has begun.
  void discard() {
    window_ = Averages(metrics);
    position_ = calls_ = 0;
    closed_ = true;
  }

  /// Steps on a gradient that was summed elsewhere: one value per parameter element, divided by `weight` here.
  /// A window that has begun is forgotten. Errors: DataError for another number of values, one that is not finite or a
  /// weight that is not positive.
  void apply(std::span<const float> gradient_sum, double weight) {
    if (static_cast<std::int64_t>(gradient_sum.size()) != Net::parameter_elements || !(weight > 0))
      throw DataError("apply: the net has " + std::to_string(Net::parameter_elements) + " parameters, got " +
                      std::to_string(gradient_sum.size()) + " gradients of weight " + std::to_string(weight));
    check_weight(weight);
    if (!math::all_finite(gradient_sum)) throw DataError("apply: a gradient that is not finite");
    require_transient();
    discard();
    queue_.write(persistent_.data() + Layout::arena, gradient_sum.data(), Net::parameter_elements * 4);
    update(weight);
  }

  /// Weighted means of the loss and the metrics over these samples; nothing is learned. Any batch size, same bits.
  Averages evaluate(std::span<const std::remove_all_extents_t<T>>... data) {
    const std::int64_t count = validate<Training, T...>(data...);
    require_transient();
    Averages result(metrics);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = std::min(options_.micro_batch, count - done);
      bind(done, part, data...);
      StepArguments arguments = arguments_for(part, done == 0, false);
      queue_.template run<Training, Phase::prologue>(arguments);
      queue_.template run<Training, Phase::forward>(arguments);
      add_losses(result, part);
      done += part;
    }
    return result;
  }

  /// Plans again for another budget, between any two calls, also inside a window: the largest micro-batch that fits, but
  /// none larger than the one that was given at first. The transient block is freed before another is taken; persistent
  /// bytes never move, and no bit of the result depends on it. Where the system refuses, the micro-batch gets smaller.
  /// Errors: MemoryError with the numbers where no micro-batch fits (without memory for open blocks: none of whole
  /// blocks), nothing is changed then; or where the system refuses the smallest, which the next call will ask for again.
  void set_budget(Budget budget) {
    const std::int64_t micro_batch = plan_.pick(budget);
    options_.memory_budget = budget;
    plan_.let_shrink();
    if (micro_batch == options_.micro_batch) return;
    plan_again(micro_batch);
    take_transient();
  }

  /// Everything that training changes, also inside a window: a session that restores it goes on to the same bits. A
  /// copy; the parameters are there by name, as in a file of parameters alone.
  Checkpoint state() const {
    return or_memory_error("the state of a session", [&] { return State::read(*this); });
  }
  /// Errors: FileError for a state of another net, optimizer or block length, by name; OptionError for a window that
  /// does not fit this session's. Nothing is changed then.
  void restore(const Checkpoint& state) {
    require_transient();
    or_memory_error("restoring a session", [&] { State::write(*this, state); });
  }
  /// The same through a file, written atomically. Errors: also FileError for a file that is damaged.
  void save_state(const std::string& path) const {
    or_memory_error("saving a state", [&] { save(path, state()); });
  }
  void load_state(const std::string& path) {
    or_memory_error("loading a state", [&] { detail::in_file(path, [&](const Checkpoint& file) { restore(file); }); });
  }

  /// By position or by name. A view, through which they can be changed; a copy where the backend has memory of its own.
  auto parameters() const {
    float* values = reinterpret_cast<float*>(persistent_.data());
    if constexpr (Backend::shares_host_memory) return ParametersView<Net>(values);
    else return ParametersCopy<Net>(queue_.view(values, Net::parameter_elements));
  }
  /// The parameters' average that an `Ema` in the optimizer keeps; zero before the first step.
  auto averaged_parameters() const
    requires(average_state<Rule> >= 0)
  {
    float* values = reinterpret_cast<float*>(persistent_.data() + Layout::arena * (2 + average_state<Rule>));
    if constexpr (Backend::shares_host_memory) return ParametersView<Net>(values);
    else return ParametersCopy<Net>(queue_.view(values, Net::parameter_elements));
  }
  /// All of them, parameter after parameter. Errors: DataError for another number of values.
  void set_parameters(std::span<const float> values) {
    if (static_cast<std::int64_t>(values.size()) != Net::parameter_elements)
      throw DataError("set_parameters: the net has " + std::to_string(Net::parameter_elements) + " parameters, got " +
                      std::to_string(values.size()));
    queue_.write(persistent_.data(), values.data(), Net::parameter_elements * 4);
  }
  /// Everything that training changes between windows: parameters and optimizer state, as bytes; views or copies.
  auto parameter_bytes() const { return queue_.view(persistent_.data(), plan_.table().parameters); }
  auto optimizer_state_bytes() const { return queue_.view(persistent_.data() + Layout::arena * 2, plan_.table().optimizer_state); }
  /// The window's summed gradients so far, parameter after parameter.
  auto accumulator() const {
    return queue_.view(gradient_sums(), Net::parameter_elements);
  }
  std::span<std::byte> transient_bytes() const { return transient_.bytes(); }
  const Averages& last_window() const { return last_; }
  const MemoryTable& memory() const { return plan_.table(); }
  /// What the session's two blocks hold; what `memory().total()` planned.
  std::int64_t allocated_bytes() const { return persistent_.size() + transient_.size(); }
  std::int64_t step_count() const { return step_count_; }
  std::int64_t position() const { return position_; }
  /// Windows since this session was made that made no step because their loss or gradient was not finite.
  std::int64_t dropped_windows() const { return dropped_windows_; }
  const SessionOptions& options() const { return options_; }

 private:
  static const Rule& rule_of(const Optimizer& optimizer) {
    if constexpr (requires { optimizer.inner; optimizer.every; }) return optimizer.inner;
    else return optimizer;
  }

  /// Gives the optimizer's states what they begin with, where that is not 0.
  [[gnu::cold]] void begin_states(const Rule& rule) {
    check_names(rule, [](std::string_view pattern) {
      for (int p = 0; p < Net::parameter_count; ++p)
        if (matches(pattern, Net::parameter(p).name.view())) return true;
      return false;
    });
    for (int s = 0; s < Layout::states; ++s)
      for (int p = 0; p < Net::parameter_count; ++p) {
        const float value = initial_state(rule, s, Net::parameter(p).name.view());
        const std::vector<float> values(static_cast<std::size_t>(Net::parameter(p).shape.unit()), value);
        if (value != 0)
          queue_.write(persistent_.data() + Layout::arena * (2 + s) + Net::parameter_offset(p) * 4, values.data(),
                       Net::parameter(p).shape.unit() * 4);
      }
  }

  static std::int64_t calls_of(const Optimizer& optimizer) {
    std::int64_t every = 0;
    if constexpr (requires { optimizer.every; }) every = optimizer.every;
    if (every < 0) throw OptionError("Accumulate: a window of " + std::to_string(every) + " calls");
    return every;
  }

  /// Frees the transient block; the next one is for this micro-batch.
  void plan_again(std::int64_t micro_batch) {
    plan_.set_micro_batch(micro_batch);
    transient_ = {};
  }
  /// Takes the transient block, a smaller one where the system refuses. Errors: MemoryError.
  void take_transient() {
    while (transient_.size() != plan_.table().transient()) try {
        transient_ = typename Backend::Memory(plan_.table().transient());
      } catch (const MemoryError&) {
        const std::int64_t smaller = plan_.smaller();
        if (smaller == 0) throw;
        plan_again(smaller);
      }
    options_.micro_batch = plan_.micro_batch();
    place_transient();
  }
  void require_transient() {
    if (transient_.size() != plan_.table().transient()) take_transient();
  }

  [[gnu::cold]] static std::vector<Scalar> collect_scalars(const Optimizer& optimizer) {
    std::vector<Scalar> scalars = trace_update(rule_of(optimizer), Net::parameter_elements).scalars;
    check_rates(rule_of(optimizer), scalars);
    if (scalars.size() > static_cast<std::size_t>(Layout::max_scalars)) throw OptionError("an update rule with more than 32 scalars");
    return scalars;
  }

  [[gnu::cold]] void place_persistent() {
    std::byte* base = persistent_.data();
    std::byte* next = base + Layout::arena * (2 + Layout::states);
    for (int i = 0; i < Layout::nodes; ++i) {
      if (const int p = Layout::gradient_of(i); p >= 0)
        address_[i] = base + Layout::arena + Net::parameter_offset(p) * 4;
      const Node& node = Training::graph.nodes[i];
      if (node.op->kind == Kind::input && node.attributes.integer[1] == Input::parameter)
        address_[i] = base + Net::parameter_offset(static_cast<int>(node.attributes.integer[0])) * 4;
      if (Layout::needs_shadow(i) || Layout::is_derived(i)) {
        address_[i] = next;
        next += Layout::node_bytes(i);
      }
      if (plan_.layout().needs_open(i)) {
        open_[i] = next;
        next += Layout::node_bytes(i);
      }
    }
    scalars_on_device_ = reinterpret_cast<float*>(next);
    for (int i = 0; i < Layout::nodes; ++i)  // the one scalar of a training program
      if (const Node& node = Training::graph.nodes[i]; node.op->kind == Kind::input && node.attributes.integer[1] == Input::scalar)
        address_[i] = &scalars_on_device_[window_weight];
    for (int i = 0; i < UpdateProgram::nodes; ++i) {
      const Node& node = UpdateProgram::graph.nodes[i];
      if (node.op->kind != Kind::input) continue;
      if (node.attributes.integer[1] == Input::scalar) update_address_[i] = &scalars_on_device_[node.attributes.integer[0]];
      else update_address_[i] = base + Layout::arena * node.attributes.integer[0];
    }
    for (int r = 0; r <= Layout::states; ++r)
      update_address_[UpdateProgram::schedule.storage[UpdateProgram::root(Role::value, r)]] =
          base + Layout::arena * (r == 0 ? 0 : r + 1);
  }

  [[gnu::cold]] void place_transient() {
    std::int64_t offset[std::max(Layout::nodes, UpdateProgram::nodes) + 1];
    Training::plan.offsets(options_.micro_batch, offset);
    queue_.plan(options_.micro_batch, std::max(plan_.table().inputs, (metrics + 2) * loss_unit * options_.micro_batch * 4));
    for (int i = 0; i < Layout::nodes; ++i)
      if (const int life = Training::plan.lifetime_of[i]; life >= 0)
        address_[i] = transient_.data() + plan_.table().inputs + offset[life];
    UpdateProgram::plan.offsets(1, offset);
    for (int i = 0; i < UpdateProgram::nodes; ++i)
      if (const int life = UpdateProgram::plan.lifetime_of[i]; life >= 0)
        update_address_[i] = transient_.data() + plan_.table().inputs + offset[life];
  }

  /// Steps where a window is full but its step failed; `discard` leaves it.
  int finish_full_window() { return every_ == 0 && position_ == options_.global_batch ? step() : 0; }

  std::int64_t next_part(std::int64_t left, std::int64_t position) const {
    const std::int64_t part = std::min(left, options_.micro_batch);
    return every_ == 0 ? std::min(part, options_.global_batch - position) : part;
  }

  /// Where weight gradients have no memory for an open block, a part must end on a block or with its window.
  void check_blocks(std::int64_t count) const {
    if (plan_.layout().keeps_open_blocks()) return;
    std::int64_t position = position_;
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t part = next_part(count - done, position);
      position += part;
      done += part;
      if (every_ == 0 && position == options_.global_batch) position = 0;
      else if (position % Layout::block_samples() != 0)
        throw OptionError("accumulate: a part of " + std::to_string(part) + " samples ends inside a block of " +
                          std::to_string(Layout::block_samples()) + "; OpenBlocks::always allows parts of any size");
    }
  }

  StepArguments arguments_for(std::int64_t part, bool first, bool last) const {
    StepArguments a;
    a.address = address_;
    a.open = open_;
    a.workspace = transient_.data() + (plan_.table().transient() - plan_.table().workspace);
    a.batch = part;
    a.begin = position_;
    a.first = first;
    a.last = last;
    return a;
  }

  /// Lets the inputs be read from where they lie, beginning at a sample.
  void bind(std::int64_t first_sample, std::int64_t count, std::span<const std::remove_all_extents_t<T>>... data) {
    const void* given[] = {data.data() + first_sample * detail::sample_shape<T>().unit()...};
    if constexpr (!Backend::shares_host_memory) {
      std::byte* to = transient_.data();
      for (int i = 0; i < inputs; ++i) {
        const InputInfo& input = Training::graph.inputs[i];
        queue_.write(to, given[i], input.shape.elements(count) * static_cast<std::int64_t>(size_of(input.dtype)));
        given[i] = std::exchange(to, to + plan_.layout().input_bytes(i));
      }
    }
    bind(given);
  }
  void bind(const void* const* given) {
    for (int i = 0; i < Layout::nodes; ++i) {
      const Node& node = Training::graph.nodes[i];
      if (node.op->kind == Kind::input && node.attributes.integer[1] == Input::sample)
        address_[i] = const_cast<void*>(given[node.attributes.integer[0]]);
    }
  }

  /// Copies the samples `rows` together into the session's own memory and binds that.
  void gather(std::span<const std::int32_t> rows, std::span<const std::remove_all_extents_t<T>>... data) {
    const void* staged[inputs];
    std::byte* const host = queue_.stage(transient_.data(), memory().inputs);
    std::int64_t at = 0;
    int i = 0;
    ((gather_one(host + at, data.data(), rows, detail::sample_shape<T>().unit()), staged[i] = transient_.data() + at,
      at += plan_.layout().input_bytes(i), ++i), ...);
    if constexpr (!Backend::shares_host_memory) std::memcpy(host + at, rows.data(), rows.size_bytes());
    queue_.send(transient_.data(), plan_.table().inputs);
    bind(staged);
  }
  /// Where the places of the samples in the data set are read: they were copied behind the samples.
  const std::int32_t* rows_on_device(const std::int32_t* rows) const {
    if (Backend::shares_host_memory || rows == nullptr) return rows;
    return reinterpret_cast<const std::int32_t*>(transient_.data() + plan_.table().inputs - plan_.layout().row_bytes());
  }
  template <class E>
  static void gather_one(std::byte* to, const E* from, std::span<const std::int32_t> rows, std::int64_t width) {
    const auto bytes = static_cast<std::size_t>(width) * sizeof(E);
    for (std::int32_t row : rows) {
      std::memcpy(to, from + row * width, bytes);
      to += bytes;
    }
  }

  void run_part(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples = nullptr) {
    StepArguments arguments = arguments_for(part, position_ == 0, last);
    arguments.random = {true, options_.seed, round, rows_on_device(samples), position_};
    if (position_ == 0) queue_.template run<Training, Phase::prologue>(arguments);
    queue_.template run<Training, Phase::forward>(arguments);
    add_losses(window_, part);
    queue_.template run<Training, Phase::backward>(arguments);
    position_ += part;
    closed_ = last;
  }

  void add_losses(Averages& sums, std::int64_t samples) const {
    constexpr int loss = Training::root(Role::loss), weight = Training::root(Role::weight);
    const std::int64_t count = loss_unit * samples;
    const float* values[max_metrics + 2] = {stored(loss)};
    for (int m = 0; m < metrics; ++m) values[m + 1] = stored(Training::root(Role::metric, m));
    if constexpr (weight >= 0) values[metrics + 1] = stored(weight);
    queue_.fetch(values, metrics + (weight < 0 ? 1 : 2), count);
    sums.add(values, weight < 0 ? nullptr : values[metrics + 1], count);
  }
  const float* stored(int node) const { return static_cast<const float*>(address_[Training::schedule.storage[node]]); }

  /// Ends the window: the batch-free rest of backward, then the inner optimizer, once.
  int step() {
    check_weight(window_.weight());
    if (every_ != 0) close_blocks();
    last_ = window_;
    window_ = Averages(metrics);
    position_ = calls_ = 0;
    if (last_.weight() == 0) return 0;
    scalar_values_[window_weight] = static_cast<float>(last_.weight());
    queue_.write(scalars_on_device_, scalar_values_, sizeof(float));
    queue_.template run<Training, Phase::boundary>(arguments_for(0, true, true));
    for (int p = 0; p < Net::parameter_count; ++p)
      if (Layout::copied(p))
        queue_.copy(persistent_.data() + Layout::arena + Net::parameter_offset(p) * 4,
                    stored(Training::root(Role::gradient, p)), Net::parameter(p).shape.unit() * 4);
    if (!last_.finite() || !queue_.all_finite(gradient_sums(), Net::parameter_elements)) return drop_window();
    update(last_.weight());
    return 1;
  }
  const float* gradient_sums() const { return reinterpret_cast<const float*>(persistent_.data() + Layout::arena); }

  /// The window has ended already; its step is not made. Errors: NonFiniteError where that is asked for.
  [[gnu::cold]] int drop_window() {
    ++dropped_windows_;
    if (options_.non_finite == NonFinite::drop_window) return 0;
    std::string what = "the loss";
    for (int p = 0; p < Net::parameter_count; ++p)
      if (!queue_.all_finite(gradient_sums() + Net::parameter_offset(p), Net::parameter(p).shape.unit()))
        what = "the gradient of '" + Net::parameter(p).name.string() + "'";
    throw NonFiniteError("step " + std::to_string(step_count_ + 1) + ": " + what +
                         " is not finite; the window is dropped, nothing is changed");
  }

  /// The inner optimizer, once, on the summed gradient.
  void update(double weight) {
    for (std::size_t s = rule_scalars; s < scalars_.size(); ++s)
      scalar_values_[s] = static_cast<float>(scalars_[s].at(step_count_));
    ++step_count_;
    scalar_values_[window_weight] = static_cast<float>(weight);
    scalar_values_[UpdateScalar::step_count] = static_cast<float>(step_count_);
    queue_.write(scalars_on_device_, scalar_values_, static_cast<std::int64_t>(scalars_.size() * sizeof(float)));
    StepArguments arguments;
    arguments.address = update_address_;
    frozen_.keep(queue_, persistent_.data(), Layout::arena, kept());
    queue_.template run<UpdateProgram, Phase::boundary>(arguments);
    frozen_.restore(queue_, persistent_.data(), Layout::arena, kept());
  }
  /// Memory for what is frozen, past the temporaries of an update.
  std::byte* kept() const { return transient_.data() + plan_.table().inputs + UpdateProgram::plan.bytes(1); }

  SessionOptions options_;
  std::int64_t every_;  // calls of a window; 0: it is counted in samples
  Frozen<Net, Layout::states> frozen_;
  detail::SessionPlan<Layout> plan_;
  typename Backend::Memory persistent_, transient_;
  typename Backend::Queue queue_;
  std::vector<Scalar> scalars_;
  float scalar_values_[Layout::max_scalars]{};
  float* scalars_on_device_ = nullptr;  // in the persistent block, where kernels read them
  void* address_[Layout::nodes > 0 ? Layout::nodes : 1]{};
  void* open_[Layout::nodes > 0 ? Layout::nodes : 1]{};
  void* update_address_[UpdateProgram::nodes]{};
  Averages window_{metrics}, last_{metrics};
  std::int64_t position_ = 0, calls_ = 0, step_count_ = 0, dropped_windows_ = 0;
  bool closed_ = true;
};

template <class Net, class Optimizer>
Session(Net, Optimizer, SessionOptions) -> Session<Net, Optimizer>;

}  // namespace gradual
