#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/optim/following_states.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/copy_rows.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/initialize.hpp>
#include <gradual/train/session_plan.hpp>

namespace gradual::detail {

template <class Net, class Rule, ShadowType S, class In>
class SessionArena;

/// A session's memory: its two blocks, where every value of its programs lies in them, and the queue that runs these.
template <class Net, class Rule, ShadowType S, class... T>
class SessionArena<Net, Rule, S, Inputs<T...>> {
 public:
  using Layout = TrainingLayout<Net, Rule, S>;
  using Sum = typename Layout::Sum;
  using Real = typename Layout::Real;
  using Backend = typename Net::Backend;
  using Training = typename Layout::Training;
  using UpdateProgram = typename Layout::UpdateProgram;
  static constexpr std::int64_t loss_unit = Training::graph.nodes[Training::root(Role::loss)].shape.unit();

  /// `options`: checked. Parameters and states begin as they are declared. Errors: as `Session`.
  [[gnu::cold]] SessionArena(const SessionOptions& options, const Rule& rule, bool counts_calls)
      : frozen_(options.freeze, Net::declared()), plan_(AnyLayout::type_of<Layout>, options, counts_calls, frozen_.elements()),
        persistent_((Backend::check_numerics(), plan_.table().persistent())), queue_(options.threads) {
    place_persistent();
    require_transient();
    keeps_copy_ = layout().keeps_copy();
    hold_rows_from(0);
    begin(rule, options.seed);
  }

  const SessionPlan& plan() const { return plan_; }
  Layout layout() const { return Layout(plan_.layout().choice); }
  const MemoryTable& table() const { return plan_.table(); }
  std::int64_t micro_batch() const { return plan_.micro_batch(); }
  std::int64_t bytes() const { return persistent_.size() + transient_.size(); }
  std::span<std::byte> transient_bytes() const { return transient_.bytes(); }
  const Frozen& frozen() const { return frozen_; }

  /// Plans again for another budget. Errors: MemoryError; nothing is changed where no micro-batch fits.
  [[gnu::cold]] void set_budget(Budget budget) {
    const std::int64_t micro_batch = plan_.pick(budget);
    plan_.let_shrink();
    if (micro_batch == plan_.micro_batch()) return;
    plan_again(micro_batch);
    require_transient();
  }
  /// Takes the transient block where it is not there, a smaller one where the system refuses. Errors: MemoryError, and
  /// OptionError where the arena was moved from.
  void require_transient() {
    require_persistent();
    if (transient_.size() != table().transient() || !placed_) take_transient();
  }

  /// Parameters, the window's summed gradients, and the optimizer's states: the arrays of an update.
  Real* parameters() const { return array(0); }
  Sum* gradients() const { return reinterpret_cast<Sum*>(array(1)); }
  Real* state(int index) const { return array(2 + index); }
  Real* array(int index) const {
    require_persistent();
    return reinterpret_cast<Real*>(persistent_.data() + Layout::array_offset(index));
  }
  /// One parameter's part of an array.
  void* part(int index, int parameter) const {
    return reinterpret_cast<std::byte*>(array(index)) +
           Layout::part_begin(index, parameter) * Layout::element_bytes(index);
  }
  /// Where the value of a node lies, and its unfinished block; null where there is none.
  void* value(int node) const { return address_[node]; }
  S* total(int cut) const { return static_cast<S*>(address_[cut]); }
  Real* open_block(int node) const { return static_cast<Real*>(open_[node]); }
  /// Whether cut `node` has an unfinished block where a window has come to sample `position`.
  bool is_open(int node, std::int64_t position) const {
    const std::int64_t p = Layout::positions(node);
    return open_[node] != nullptr && block_begin(position * p, p) != position * p;
  }
  /// From which sample of the window on blocks that begin are held as rows; older ones lie there as chains.
  /// All are chains where sums are copied, and where several threads would read each other's rows of but two micro-batches.
  void hold_rows_from(std::int64_t position) {
    constexpr std::int64_t block = Layout::block_samples();
    const bool holds = !keeps_copy_ && (plan_.layout().choice.threads == 1 || 2 * micro_batch() < block);
    held_from_ = holds ? position : std::numeric_limits<std::int64_t>::max();
  }
  /// Copies the chains of that block, in a window that has come to `position`, to the host.
  [[gnu::cold]] void read_open(int node, std::int64_t position, void* to) const {
    if (!holds_rows(node, position))
      return queue_.read(to, open_[node], Training::graph.nodes[node].shape.unit() * std::int64_t{sizeof(Real)});
    std::vector<std::byte> workspace(static_cast<std::size_t>(Backend::template workspace_bytes<Training>(1, 1)));
    sum_held(node, position, workspace.data(), to);
  }
  const Real* stored(int node) const { return static_cast<const Real*>(value(Training::schedule.storage[node])); }

  /// Moves bytes and tells what kernels computed.
  auto& queue() { return queue_; }
  const auto& queue() const { return queue_; }

  /// Lets the inputs be read from where they lie, beginning at a sample; or copies `count` samples to the device.
  void bind(std::int64_t first_sample, std::int64_t count, std::span<const std::remove_all_extents_t<T>>... data) {
    const void* given[] = {data.data() + first_sample * sample_shape<T>().unit()...};
    if constexpr (!Backend::shares_host_memory) {
      std::byte* const host = queue_.stage(transient_.data());
      std::int64_t at[inputs], end = 0, used = 0;
      for (int i = 0; i < inputs; ++i) {
        const InputInfo& input = Training::graph.inputs[i];
        const std::int64_t bytes = input.shape.elements(count) * size_of(input.dtype);
        std::memcpy(host + end, given[i], static_cast<std::size_t>(bytes));
        used = end + bytes;
        at[i] = std::exchange(end, end + layout().input_bytes(i));
      }
      const std::byte* const place = queue_.send(transient_.data(), used);
      for (int i = 0; i < inputs; ++i) given[i] = place + at[i];
    }
    bind(given);
  }
  /// Copies the samples `rows` together and binds them. Returns where kernels read `rows`.
  const std::int32_t* gather(std::span<const std::int32_t> rows, std::span<const std::remove_all_extents_t<T>>... data) {
    std::byte* const host = queue_.stage(transient_.data());
    std::int64_t at[inputs], end = 0;
    int i = 0;
    ((copy_rows(host + end, data.data(), rows, sample_shape<T>().unit()),
      at[i] = std::exchange(end, end + layout().input_bytes(i)), ++i), ...);
    if constexpr (!Backend::shares_host_memory) std::memcpy(host + end, rows.data(), rows.size_bytes());
    const std::byte* const place = queue_.send(transient_.data(), end + static_cast<std::int64_t>(rows.size_bytes()));
    const void* given[inputs];
    for (i = 0; i < inputs; ++i) given[i] = place + at[i];
    bind(given);
    if constexpr (Backend::shares_host_memory) return rows.data();
    else return reinterpret_cast<const std::int32_t*>(place + end);
  }

  /// What the training program is told of `part` samples that begin at place `begin` of the window.
  StepArguments arguments(std::int64_t part, std::int64_t begin, bool first, bool last) const {
    StepArguments a;
    a.address = address_;
    a.open = open_;
    a.workspace = workspace();
    a.batch = part;
    a.begin = begin;
    a.first = first;
    a.last = last;
    a.held_from = held_from_;
    return a;
  }

  /// Adds the unfinished blocks of a window that has come to sample `position`.
  [[gnu::cold]] void close_blocks(std::int64_t position) {
    for (int i = 0; i < Layout::nodes; ++i) {
      if (!Layout::is_cut(i) || !is_open(i, position)) continue;
      if (holds_rows(i, position)) sum_held(i, position, workspace(), nullptr);
      else queue_.add(total(i), open_block(i), Training::graph.nodes[i].shape.unit());
    }
  }
  /// Copies all that the window has summed, and puts it back. `position`: the sample that it has come to.
  [[gnu::cold]] void keep_sums(std::int64_t position) {
    each_sum(position, [&](const auto* values, std::byte* kept, std::int64_t count) {
      queue_.copy(kept, values, count * std::int64_t{sizeof(*values)});
    });
  }
  [[gnu::cold]] void restore_sums(std::int64_t position) {
    each_sum(position, [&](auto* values, const std::byte* kept, std::int64_t count) {
      queue_.copy(values, kept, count * std::int64_t{sizeof(*values)});
    });
  }
  /// Whether all of it is finite. `closed`: the window's last block is.
  [[gnu::cold]] bool sums_are_finite(std::int64_t position, bool closed) {
    bool finite = true;
    each_sum(closed ? 0 : position, [&](const auto* values, const std::byte*, std::int64_t count) {
      finite = finite && queue_.all_finite(values, count);
    });
    return finite;
  }

  /// Of the gradients that are not frozen. `first`: they are not yet looked at in this window.
  [[gnu::cold]] GradientSquares square_gradients(bool first) {
    const auto now = queue_.view(static_cast<const Sum*>(gradients()), Net::parameter_elements);
    const auto before = queue_.view(static_cast<const Sum*>(gradients_before_), first ? 0 : Net::parameter_elements);
    const GradientSquares result =
        squares_of(Net::declared(), frozen_, std::span<const Sum>(now), std::span<const Sum>(before));
    queue_.copy(gradients_before_, gradients(), Net::parameter_elements * std::int64_t{sizeof(Sum)});
    return result;
  }
  /// The same of a window of this weight that has come to sample `position` and goes on.
  [[gnu::cold]] GradientSquares square_so_far(std::int64_t position, double weight, bool first) {
    const bool open = position % Layout::block_samples() != 0, kept = open || is_compensated<S>;
    if (kept) keep_sums(position);
    if (open) close_blocks(position);
    finish_gradients(weight);
    const GradientSquares result = square_gradients(first);
    if (kept) restore_sums(position);
    return result;
  }

  /// By what the losses of the next samples are scaled.
  void set_loss_scale(double scale) {
    const auto value = static_cast<Real>(scale);
    if constexpr (Layout::scales_loss) queue_.write(scalars_ + Layout::max_scalars, &value, sizeof(value));
  }

  /// The batch-free rest of backward, for a window of this weight: then all gradients lie in their places.
  void finish_gradients(double weight) {
    const auto value = static_cast<Sum>(weight);
    queue_.write(scalars_ + window_weight, &value, sizeof(value));
    if constexpr (is_compensated<S>)
      for (int i = 0; i < Layout::nodes; ++i)
        if (Layout::is_cut(i)) queue_.complete(total(i), Training::graph.nodes[i].shape.unit());
    queue_.template run<Training, Phase::boundary>(arguments(0, 0, true, true));
    for (int p = 0; p < Net::parameter_count; ++p)
      if (Layout::copied(p))
        queue_.copy(gradients() + Net::parameter_offset(p), stored(Training::root(Role::gradient, p)),
                    Net::parameter(p).shape.unit() * std::int64_t{sizeof(Sum)});
  }
  /// The summed gradients. `unfinished`: sums of samples still lie there as kernels add to them; what is made of them once
  /// the window has ended, does not yet.
  auto sums(bool unfinished) const {
    if constexpr (is_compensated<S>) {
      const auto now = queue_.view(static_cast<const Sum*>(gradients()), Net::parameter_elements);
      std::vector<Sum> values(now.begin(), now.end());
      for (int i = 0; i < Layout::nodes; ++i) {
        const int p = Layout::gradient_of(i);
        if (!unfinished || p < 0 || !Layout::is_cut(i)) continue;
        const auto pairs = queue_.view(static_cast<const S*>(total(i)), Net::parameter(p).shape.unit());
        std::ranges::transform(pairs, values.begin() + Net::parameter_offset(p), &S::value);
      }
      return values;
    } else {
      return queue_.view(static_cast<const Sum*>(gradients()), Net::parameter_elements);
    }
  }
  /// The rule, once, given its scalars.
  void update(std::span<const Sum> scalars) {
    queue_.write(scalars_, scalars.data(), static_cast<std::int64_t>(scalars.size_bytes()));
    StepArguments a;
    a.address = update_address_;
    a.workspace = workspace();
    std::byte* const aside = transient_.data() + table().inputs + UpdateProgram::plan.bytes(1);
    frozen_.template leave_out<Rule>(queue_, 2 + Layout::states, bytes_of_part(), aside,
                                     [&] { queue_.template run<UpdateProgram, Phase::boundary>(a); });
  }
  /// Puts frozen parameters back to where a rule's last state has them.
  [[gnu::cold]] void put_back_frozen() { frozen_.copy(queue_, 0, 1 + Layout::states, bytes_of_part()); }

 private:
  static constexpr int inputs = sizeof...(T);

  /// Whether the memory of an unfinished block holds rows.
  bool holds_rows(int node, std::int64_t position) const {
    const std::int64_t p = Layout::positions(node);
    return is_open(node, position) && Layout::can_hold_rows(node) && block_begin(position * p, p) / p >= held_from_;
  }
  /// Their sums, to `open`, or, null, to the total.
  [[gnu::cold]] void sum_held(int node, std::int64_t position, std::byte* workspace, void* open) const {
    StepArguments a;
    a.address = address_;
    a.open = open_;
    a.workspace = workspace;
    a.begin = position;
    a.held_from = held_from_;
    queue_.template sum_held<Training>(node, a, open);
  }

  auto bytes_of_part() const {
    return [this](int array, int p) {
      const std::int64_t bytes = Layout::part_elements(array, p) * Layout::element_bytes(array);
      return std::span(static_cast<std::byte*>(part(array, p)), static_cast<std::size_t>(bytes));
    };
  }
  void require_persistent() const {
    if (persistent_.size() != table().persistent()) [[unlikely]] refuse_moved();
  }
  [[noreturn, gnu::cold]] static void refuse_moved() { throw OptionError("the session was moved from: it has no parameters"); }
  std::byte* workspace() const { return transient_.data() + (table().transient() - table().workspace); }
  /// The place of an input or root of the update program.
  [[gnu::cold]] void* part_of_array(std::int64_t index) const {
    const auto [which, parameter] = update_place(index, 2 + Layout::states);
    return parameter < 0 ? array(which) : part(which, parameter);
  }

  /// f(values, their place in the copy, how many) for the sums of a window, and for its unfinished blocks.
  template <class F>
  [[gnu::cold]] void each_sum(std::int64_t position, F f) const {
    for (int i = 0; i < Layout::nodes; ++i) {
      if (!Layout::is_cut(i)) continue;
      f(total(i), kept_[i], Training::graph.nodes[i].shape.unit());
      if (is_open(i, position)) f(open_block(i), kept_[i] + Layout::node_bytes(i), Training::graph.nodes[i].shape.unit());
    }
  }

  [[gnu::cold]] void take_transient() {
    for (placed_ = false; !placed_;) try {
        if (transient_.size() != table().transient()) transient_ = typename Backend::Memory(table().transient());
        place_transient();
        placed_ = true;
      } catch (const MemoryError&) {
        const std::int64_t smaller = plan_.smaller();
        if (smaller == 0) throw;
        plan_again(smaller);
      }
  }
  /// Frees the transient block; the next one is for this micro-batch.
  [[gnu::cold]] void plan_again(std::int64_t micro_batch) {
    queue_.wait();
    plan_.set_micro_batch(micro_batch);
    transient_ = {};
    placed_ = false;
  }

  [[gnu::cold]] void place_persistent() {
    const Layout layout = this->layout();
    std::byte* next = persistent_.data() + Layout::array_offset(2 + Layout::states);
    for (int i = 0; i < Layout::nodes; ++i) {
      if (const int p = Layout::gradient_of(i); p >= 0) address_[i] = gradients() + Net::parameter_offset(p);
      const Node& node = Training::graph.nodes[i];
      if (is_input(node, Input::parameter))
        address_[i] = parameters() + Net::parameter_offset(static_cast<int>(node.attributes.integer[0]));
      if (Layout::needs_shadow(i) || Layout::is_derived(i)) address_[i] = std::exchange(next, next + Layout::node_bytes(i));
      if (layout.keeps_copy()) kept_[i] = std::exchange(next, next + layout.summed_bytes(i));
      if (layout.needs_open(i)) open_[i] = std::exchange(next, next + Layout::open_bytes(i));
    }
    gradients_before_ = reinterpret_cast<Sum*>(std::exchange(next, next + table().noise));
    scalars_ = reinterpret_cast<Sum*>(next);
    for (int i = 0; i < Layout::nodes; ++i)
      if (const Node& node = Training::graph.nodes[i]; is_input(node, Input::scalar))
        address_[i] = node.attributes.integer[0] == loss_scale_slot ? scalars_ + Layout::max_scalars : scalars_ + window_weight;
    for (int i = 0; i < UpdateProgram::nodes; ++i) {
      const Node& node = UpdateProgram::graph.nodes[i];
      if (node.op->kind != Kind::input) continue;
      if (is_input(node, Input::scalar)) update_address_[i] = scalars_ + node.attributes.integer[0];
      else update_address_[i] = part_of_array(node.attributes.integer[0]);
    }
    for (int r = 0; r < UpdateProgram::graph.counts.roots; ++r) {
      const Root& root = UpdateProgram::graph.roots[r];
      update_address_[UpdateProgram::schedule.storage[root.node]] = part_of_array(root.index);
    }
  }

  [[gnu::cold]] void place_transient() {
    std::int64_t offset[std::max(Layout::nodes, UpdateProgram::nodes) + 1];
    std::byte* const base = transient_.data() + table().inputs;
    Training::plan.offsets(micro_batch(), offset);
    for (int i = 0; i < Layout::nodes; ++i)
      if (const int life = Training::plan.lifetime_of[i]; life >= 0) address_[i] = base + offset[life];
    UpdateProgram::plan.offsets(1, offset);
    for (int i = 0; i < UpdateProgram::nodes; ++i)
      if (const int life = UpdateProgram::plan.lifetime_of[i]; life >= 0) update_address_[i] = base + offset[life];
    queue_.plan(micro_batch(), layout().place_bytes(), layout().loss_bytes());
  }

  /// Gives parameters, and those states that do not begin with 0, what they begin with.
  [[gnu::cold]] void begin(const Rule& rule, std::uint64_t seed) {
    std::vector<Real> values(static_cast<std::size_t>(Net::parameter_elements));
    const ParametersView<Net> view(values.data());
    initialize<Net>(view, seed);
    queue_.write(parameters(), values.data(), Net::parameter_elements * std::int64_t{sizeof(Real)});
    for (int s = 0; s < Layout::states; ++s) {
      values.resize(static_cast<std::size_t>(Layout::elements(2 + s)));
      for (int p = 0; p < Net::parameter_count; ++p)
        std::fill_n(values.data() + Layout::part_begin(2 + s, p), Layout::part_elements(2 + s, p),
                    initial_state(rule, s, Net::parameter(p).name.view()));
      queue_.write(state(s), values.data(), Layout::elements(2 + s) * std::int64_t{sizeof(Real)});
    }
    queue_.wait();
  }

  void bind(const void* const* given) {
    for (std::size_t i = 0; i < sizeof...(T); ++i)
      if (const int node = Training::input_nodes[i]; node >= 0) address_[node] = const_cast<void*>(given[i]);
  }

  Frozen frozen_;
  SessionPlan plan_;
  typename Backend::Memory persistent_, transient_;
  typename Backend::Queue queue_;
  bool placed_ = false;         // whether addresses are those of the transient block
  bool keeps_copy_ = false;     // of sums, as chains
  std::int64_t held_from_ = 0;
  Sum* scalars_ = nullptr;      // in the persistent block, where kernels read them
  Sum* gradients_before_ = nullptr;  // those that `square_gradients` saw
  void* address_[Layout::nodes > 0 ? Layout::nodes : 1]{};
  void* open_[Layout::nodes > 0 ? Layout::nodes : 1]{};
  std::byte* kept_[Layout::nodes > 0 ? Layout::nodes : 1]{};  // copies of sums and, behind them, of open blocks
  void* update_address_[UpdateProgram::nodes]{};
};

}  // namespace gradual::detail
