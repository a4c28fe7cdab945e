#pragma once
#include <algorithm>
#include <array>
#include <span>

#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/optim/following_states.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/optim/update.hpp>
#include <gradual/optim/update_by_element.hpp>
#include <gradual/train/averages.hpp>
#include <gradual/train/memory.hpp>
#include <gradual/train/update_program.hpp>

namespace gradual {

/// A sum over samples in a training program, to which each micro-batch of a window adds.
struct SampleSum {
  int node = -1;
  int parameter = -1;          ///< the parameter in whose place among the gradients it grows; −1: it has its own place
  std::int64_t unit = 0;       ///< number of elements
  std::int64_t positions = 0;  ///< summed positions per sample
  bool in_blocks = false;      ///< whether a window can leave it inside a block
  bool may_hold_rows = false;  ///< whether its unfinished block may hold rows
  bool is_reduced = false;     ///< whether it is a reduction's, whose open block costs little and is always kept
};

/// Samples as a training program reads them.
struct SampleInput {
  int node = -1;           ///< −1: nothing reads them
  std::int64_t bytes = 0;  ///< of one sample
};

/// The data of all sessions of a net with an optimizer, without their types: code that reads only this is compiled once, not
/// for each net. Describes all of the layout that does not depend on a `LayoutChoice`.
struct SessionTables {
  ProgramTables training;
  const ProgramTables& (*update)() = nullptr;
  std::span<const ParameterInfo> parameters;
  std::int64_t parameter_elements = 0;
  std::span<const SampleInput> inputs;
  std::span<const SampleSum> sums;
  std::span<const int> gradient_of;  ///< by node: the parameter in whose place among the gradients it is computed, or −1
  std::span<const bool> copied;      ///< by parameter: its gradient is copied to its place, since its node also holds another's
                                     ///< or is not computed at the end of a window
  int first_known_at_end = -1;       ///< the first parameter whose gradient is not one sum over samples, or −1
  MetricSet metrics;
  int losses[max_loss_arrays]{};  ///< the nodes of a sample's numbers, as in `MetricSet`, and of its weight
  int loss_arrays = 0;            ///< their number
  std::int64_t loss_unit = 1;     ///< values per sample in each
  bool has_weights = false;

  bool updates_by_element = false;  ///< the update treats an element as a sample (`ElementTrace`)
  int update_nodes = 0;
  std::int64_t (*update_bytes)(std::int64_t elements) = nullptr;  ///< of its temporaries

  int states = 0;                           ///< of the rule, per parameter
  std::span<const std::int64_t> array_elements;  ///< see `elements`
  Shape (*state_shape)(int state, const Shape& parameter) = nullptr;
  std::uint64_t following = 0, chosen = 0;  ///< bit s: state s follows the parameters, or marks those an adapter is for
  bool scales_loss = false;
  std::int64_t real_bytes = 0;                   ///< of a parameter
  std::int64_t shadow_bytes = 0, sum_bytes = 0;  ///< of a gradient, inside a window and after it
  bool is_compensated = false;
  std::int64_t max_scalars = 0;  ///< room for the rule's numbers; the loss scale lies behind them

  bool shares_host_memory = true;  ///< this and the following: properties of the backend
  int places = 1;
  std::int64_t (*pinned_bytes)(std::int64_t samples, std::int64_t losses) = nullptr;
  std::int64_t (*training_workspace)(int threads, std::int64_t batch) = nullptr;
  std::int64_t (*update_workspace)(int threads, std::int64_t batch) = nullptr;

  std::int64_t block_samples = 1;  ///< after so many samples every weight gradient's block is closed; a power of two
  std::int64_t countable = 0;      ///< see `countable_batch`
  std::int64_t kept_for_each = 0;  ///< numbers kept aside per element of a frozen parameter: itself and its states

  /// Return the number of an update's arrays (0, the parameters; 1, their gradients; 2, …, the states), and of one's elements.
  constexpr int arrays() const { return 2 + states; }
  constexpr std::int64_t elements(int array) const { return array_elements[static_cast<std::size_t>(array)]; }
  /// Return the shape and size of parameter `p` there, and the index of its first element.
  constexpr Shape part_shape(int array, int p) const {
    const Shape& parameter = parameters[static_cast<std::size_t>(p)].shape;
    return array < 2 ? parameter : state_shape(array - 2, parameter);
  }
  constexpr std::int64_t part_elements(int array, int p) const { return part_shape(array, p).unit(); }
  constexpr std::int64_t part_begin(int array, int p) const {
    std::int64_t begin = 0;
    for (int q = 0; q < p; ++q) begin += part_elements(array, q);
    return begin;
  }
  constexpr std::int64_t element_bytes(int array) const { return array == 1 ? shadow_bytes : real_bytes; }
  /// Returns where array `a` begins, in bytes; for `arrays()`, where the last one ends.
  constexpr std::int64_t array_offset(int a) const {
    std::int64_t offset = 0;
    for (int b = 0; b < a; ++b) offset += aligned(elements(b) * element_bytes(b));
    return offset;
  }
  /// Returns the bytes of a window's sums, at `each` bytes per element.
  constexpr std::int64_t bytes_of_sums(std::int64_t each) const {
    std::int64_t bytes = aligned(elements(1) * each);
    for (const SampleSum& sum : sums) bytes += sum.parameter < 0 ? aligned(sum.unit * each) : 0;
    return bytes;
  }
  /// Returns the bytes of a sum's unfinished block, a chain in the type of the summands.
  constexpr std::int64_t open_bytes(const SampleSum& sum) const { return aligned(sum.unit * real_bytes); }
  constexpr std::int64_t node_bytes(const SampleSum& sum) const { return training.node_bytes(sum.node); }
};

namespace detail {

template <class Net, class Rule, ShadowType S>
class TablesOfSession {
  using Backend = typename Net::Backend;
  using Training = typename Net::template TrainingIn<S, (loss_scales<Rule> > 0)>;
  using Update = typename Net::template UpdateOf<Rule, S>;
  static constexpr ProgramTables training = Training::tables;
  static constexpr int nodes = Training::nodes, parameters = Net::parameter_count;
  static constexpr int states = state_size<StateOf<Rule>>();

  static constexpr int count_sums() {
    int count = 0;
    for (int i = 0; i < nodes; ++i) count += is_sample_sum(training.node(i).op->kind);
    return count;
  }
  static constexpr int sum_count = count_sums();

  struct Arrays {
    AtLeastOne<SampleInput, Training::graph.counts.inputs> inputs{};
    AtLeastOne<SampleSum, sum_count> sums{};
    AtLeastOne<int, nodes> gradient_of{};
    AtLeastOne<bool, parameters> copied{};
    int first_known_at_end = -1;
  };
  static constexpr Arrays find() {
    Arrays result;
    for (std::size_t i = 0; i < training.inputs.size(); ++i)
      result.inputs[i] = {training.input_nodes[i], training.inputs[i].shape.unit() * size_of(training.inputs[i].dtype)};
    for (int i = 0; i < nodes; ++i) result.gradient_of[i] = -1;
    for (const Root& root : training.roots) {
      if (root.role != Role::gradient) continue;
      const int s = training.storage[root.node];
      const bool is_sum = is_sample_sum(training.node(s).op->kind), made_at_end = training.phase[s] == Phase::boundary;
      const bool in_place = result.gradient_of[s] < 0 && (is_sum || made_at_end);
      if (is_sum ? !in_place : made_at_end)
        if (int& first = result.first_known_at_end; first < 0 || root.index < first) first = root.index;
      if (in_place) result.gradient_of[s] = root.index;
      else result.copied[root.index] = true;
    }
    SampleSum* sum = result.sums;
    for (int i = 0; i < nodes; ++i) {
      const Node& node = training.node(i);
      if (!is_sample_sum(node.op->kind)) continue;
      *sum++ = {i, result.gradient_of[i], node.shape.unit(), summed_positions(training.nodes.data(), node),
                Backend::template sums_in_blocks<S>(training.nodes.data(), node), false, node.op->kind == Kind::batch_reduce};
    }
    Backend::template for_held_sums<Training>([&](int node) {
      for (SampleSum& held : result.sums) held.may_hold_rows = held.may_hold_rows || held.node == node;
    });
    return result;
  }
  static constexpr Arrays found = find();

  static constexpr void find_losses(SessionTables& t) {
    const auto stored = [](Role role, int index = 0) { return training.storage[training.root(role, index)]; };
    t.losses[0] = stored(Role::loss);
    for (int m = 0; m < t.metrics.count; ++m) {
      t.losses[1 + m] = stored(Role::metric, m);
      if (t.metrics.has_own(m)) t.losses[t.metrics.weight_of(m)] = stored(Role::metric_weight, m);
    }
    t.loss_arrays = t.metrics.arrays();
    t.has_weights = training.count_of(Role::weight) > 0;
    if (t.has_weights) t.losses[t.loss_arrays++] = stored(Role::weight);
    t.loss_unit = training.root_unit(Role::loss);
  }

  static constexpr std::int64_t find_block_samples() {
    std::int64_t samples = 1;
    for (const SampleSum& sum : found.sums) samples = std::max(samples, block_samples(sum.positions));
    return samples;
  }
  static constexpr auto array_elements = [] {
    std::array<std::int64_t, 2 + states> elements{};
    for (const ParameterInfo& parameter : Net::declared())
      for (int a = 0; a < 2 + states; ++a)
        elements[static_cast<std::size_t>(a)] +=
            (a < 2 ? parameter.shape : gradual::state_shape<Rule>(a - 2, parameter.shape)).unit();
    return elements;
  }();

  static constexpr void describe_update(SessionTables& t) {
    t.update = &UpdateProgram<Backend, Update>::tables;
    t.updates_by_element = Net::template updates_by_element<Rule, S>;
    if constexpr (Net::template updates_by_element<Rule, S>) {
      constexpr ElementProgram known = element_program<Rule, typename Net::Real>;
      t.update_nodes = known.nodes;
      t.update_bytes = &element_program_bytes<Rule, typename Net::Real>;
      t.max_scalars = std::max(32, known.scalars);
      t.update_workspace = [](int, std::int64_t) { return std::int64_t{0}; };  // elementwise loops need none
    } else {
      t.update_nodes = Update::nodes;
      t.update_bytes = [](std::int64_t) { return Update::plan.bytes(1); };
      t.max_scalars = std::max(32, Net::template UpdateTraceOf<Rule, S>::scalars);
      t.update_workspace = &Backend::template workspace_bytes<Update>;
    }
  }
  /// Returns the maximum, rounded up.
  static constexpr std::int64_t most_kept_for_each(const SessionTables& tables) {
    std::int64_t most = 0;
    for (int p = 0; p < parameters; ++p) {
      std::int64_t kept = 0;
      for (int a = 0; a < tables.arrays(); ++a) kept += a == 1 ? 0 : tables.part_elements(a, p);
      if (const std::int64_t own = tables.part_elements(0, p); own > 0) most = std::max(most, (kept + own - 1) / own);
    }
    return most;
  }

 public:
  static constexpr SessionTables make() {
    SessionTables t;
    t.training = training;
    t.parameters = Net::declared();
    t.parameter_elements = Net::parameter_elements;
    t.inputs = table_of(found.inputs, Training::graph.counts.inputs);
    t.sums = table_of(found.sums, sum_count);
    t.gradient_of = table_of(found.gradient_of, nodes);
    t.copied = table_of(found.copied, parameters);
    t.first_known_at_end = found.first_known_at_end;
    t.metrics = MetricSet::of<Training>();
    find_losses(t);
    t.states = states;
    t.array_elements = array_elements;
    t.state_shape = &gradual::state_shape<Rule>;
    describe_update(t);
    t.following = following_states<Rule>();
    t.chosen = chosen_states<Rule>();
    t.scales_loss = loss_scales<Rule> > 0;
    t.real_bytes = sizeof(typename Net::Real);
    t.shadow_bytes = sizeof(S);
    t.sum_bytes = sizeof(SumOf<S>);
    t.is_compensated = gradual::is_compensated<S>;
    t.shares_host_memory = Backend::shares_host_memory;
    t.places = Backend::Queue::places;
    t.pinned_bytes = &Backend::pinned_bytes;
    t.training_workspace = &Backend::template workspace_bytes<Training>;
    t.block_samples = find_block_samples();
    t.countable = countable_batch(training);
    t.kept_for_each = t.updates_by_element ? 0 : most_kept_for_each(t);  // such an update passes over what is frozen
    return t;
  }
};

}  // namespace detail

/// The tables of the sessions of `Net` with a rule, with sums held in S.
template <class Net, class Rule, ShadowType S = typename Net::Real>
inline constexpr SessionTables session_tables = detail::TablesOfSession<Net, Rule, S>::make();

}  // namespace gradual
