#pragma once
#include <algorithm>
#include <string>

#include <gradual/autodiff/cut_positions.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/update.hpp>
#include <gradual/train/averages.hpp>

namespace gradual {

/// Bytes of a session, by category. What each category holds lies in one of two blocks.
struct MemoryTable {
  std::int64_t parameters = 0, gradients = 0, open_blocks = 0, optimizer_state = 0, derived = 0, undo = 0,
               noise = 0;                                                                           // persistent
  std::int64_t inputs = 0, activations = 0, update = 0, workspace = 0;                              // transient
  std::int64_t pinned = 0;  // of the host's memory, beside the two blocks, where these lie on a device
  constexpr std::int64_t persistent() const {
    return parameters + gradients + open_blocks + optimizer_state + derived + undo + noise;
  }
  /// Activations and the temporaries of an update are never alive together and share their memory.
  constexpr std::int64_t transient() const { return inputs + (activations > update ? activations : update) + workspace; }
  constexpr std::int64_t total() const { return persistent() + transient(); }
};

constexpr std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1024; }
constexpr std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1024 * 1024; }

/// Whether the unfinished blocks of weight gradients get memory: always, or only where the planned micro-batch ends
/// inside a block (without it, every micro-batch must end on a block or with its window).
enum class OpenBlocks : unsigned char { as_needed, always };

/// What a window keeps beside its sums, only for who asks.
struct WindowExtras {
  bool undo = false;             ///< its sums as they were before a micro-batch, so that this one can be undone
  std::int64_t noise_batch = 0;  ///< its gradient before the last so many samples, whose noise is measured; 0: not
};

/// What of a session's layout is chosen when it is made, or planned again.
struct LayoutChoice {
  std::int64_t micro_batch = 0;
  bool open_blocks = false;  ///< the unfinished blocks of products have memory
  int threads = 1;
  WindowExtras extras = {};
};

/// What a session's memory depends on beside its net, its optimizer and its micro-batch.
struct Planning {
  OpenBlocks open_blocks = OpenBlocks::as_needed;
  int threads = 1;
  bool gather = false;  ///< samples are copied together from anywhere in a data set, as a trainer does
  std::int64_t frozen = 0;  ///< parameter elements that are frozen
  WindowExtras extras = {};
};

/// The largest batch that fits a budget, and the proof: one more sample needs more bytes, and so does every larger batch.
struct LargestBatch {
  std::int64_t batch = 0, bytes = 0, bytes_for_one_more = 0;
};

/// The largest batch of program P whose bytes can be counted, whatever lies beside what.
template <class P>
constexpr std::int64_t countable_batch() {
  std::int64_t sample_bytes = 1;
  const auto add = [&](const Shape& shape, DType dtype) {
    sample_bytes += shape.batched() ? shape.unit() * size_of(dtype) : 0;
  };
  for (int i = 0; i < P::graph.counts.inputs; ++i) add(P::graph.inputs[i].shape, P::graph.inputs[i].dtype);
  for (int i = 0; i < P::nodes; ++i)
    if (P::plan.lifetime_of[i] >= 0) add(P::graph.nodes[i].shape, P::graph.nodes[i].dtype);
  return (std::int64_t{1} << 61) / sample_bytes;
}

/// Returns the batch. Errors: OptionError where it is not positive, ShapeError where its bytes cannot be counted.
template <class P>
constexpr std::int64_t check_countable(std::int64_t batch) {
  if (batch <= 0) throw OptionError("a batch of " + std::to_string(batch));
  if (batch > countable_batch<P>())
    throw ShapeError("a batch of " + std::to_string(batch) +
                     " samples has no countable size; the largest that has one is of " +
                     std::to_string(countable_batch<P>()));
  return batch;
}

namespace detail {
template <class Real, ShadowType S>
struct ShadowInReal {
  static_assert(std::is_same_v<Real, float> || !is_compensated<S>, "a net in double sums in double, not in two numbers");
  using type = std::conditional_t<std::is_same_v<Real, float>, S, double>;
};
}  // namespace detail

/// What the sums of a net's windows are held in: what `Accumulate` says, or double where its parameters are.
template <class Net, class Optimizer>
using ShadowFor = typename detail::ShadowInReal<typename Net::Real, ShadowOf<Optimizer>>::type;

/// Where everything of a session lies, to the byte: constexpr, so that sizes can be asserted before anything runs. S: what
/// the window's sums are held in.
template <class Net, class Rule, ShadowType S = typename Net::Real>
class TrainingLayout {
 public:
  using Real = typename Net::Real;
  using Shadow = S;
  using Sum = SumOf<S>;  ///< of a gradient, where the window has ended
  static constexpr bool scales_loss = loss_scales<Rule> > 0;
  using Training = typename Net::template TrainingIn<S, scales_loss>;
  using UpdateProgram = typename Net::template UpdateOf<Rule, S>;
  static constexpr int nodes = Training::nodes;
  static constexpr int states = detail::state_size<StateOf<Rule>>();
  /// Numbers that the rule has room for; the loss scale lies behind them.
  static constexpr std::int64_t max_scalars = std::max(32, Net::template UpdateTraceOf<Rule, S>::scalars);
  /// Of parameters, or of a state of their shapes.
  static constexpr std::int64_t arena = aligned(Net::parameter_elements * std::int64_t{sizeof(Real)});

  /// Elements of array `a` of an update: 0, the parameters; 1, their gradients; 2, …, the states.
  static constexpr std::int64_t elements(int a) { return UpdateProgram::graph.inputs[a].shape.unit(); }
  /// Those that belong to parameter `p`, and the first of them.
  static constexpr std::int64_t part_elements(int a, int p) {
    return UpdateProgram::graph.inputs[a + (2 + states) * (1 + p)].shape.unit();
  }
  static constexpr std::int64_t part_begin(int a, int p) {
    std::int64_t begin = 0;
    for (int q = 0; q < p; ++q) begin += part_elements(a, q);
    return begin;
  }
  static constexpr std::int64_t element_bytes(int a) { return a == 1 ? sizeof(S) : sizeof(Real); }
  /// Where array `a` begins, in bytes; for `2 + states`, where all end.
  static constexpr std::int64_t array_offset(int a) {
    std::int64_t offset = 0;
    for (int b = 0; b < a; ++b) offset += aligned(elements(b) * element_bytes(b));
    return offset;
  }

  /// `window`: samples of the accumulation window, or 0 where only the micro-batch is known.
  /// Errors: OptionError for a micro-batch that is not positive; ShapeError for one whose bytes cannot be counted.
  constexpr TrainingLayout(std::int64_t micro_batch, std::int64_t window, OpenBlocks open, int threads = 1,
                           const WindowExtras& extras = {})
      : choice_{check_countable<Training>(micro_batch),
                open == OpenBlocks::always || measures_copies(extras) ||
                    (micro_batch != window && micro_batch % block_samples() != 0),
                threads, extras} {}
  /// Errors: as above.
  constexpr explicit TrainingLayout(const LayoutChoice& choice) : choice_(choice) {
    check_countable<Training>(choice.micro_batch);
  }

  /// Samples after which every weight gradient's block is closed; a power of two.
  static constexpr std::int64_t block_samples() {
    std::int64_t samples = 1;
    for (int i = 0; i < nodes; ++i)
      if (is_cut(i) && positions(i) > 0 && positions(i) < canonical_block &&
          block_positions(positions(i)) / positions(i) > samples)
        samples = block_positions(positions(i)) / positions(i);
    return samples;
  }
  /// A copy of the sums, to undo what was done to them: a micro-batch that was added, or what a measurement needs.
  constexpr bool keeps_copy() const { return choice_.extras.undo || measures_copies(choice_.extras); }
  constexpr const LayoutChoice& choice() const { return choice_; }

  /// `gather`: samples are copied together from anywhere in a data set, instead of being read where they lie, as
  /// every backend with memory of its own does.
  /// `frozen`: parameter elements that an update must leave alone, which are kept aside while it runs.
  constexpr MemoryTable table(bool gather = false, std::int64_t frozen = 0) const {
    MemoryTable t;
    if (gather || !Net::Backend::shares_host_memory) {
      t.inputs = place_bytes() * places;
      t.pinned = Net::Backend::pinned_bytes(place_bytes(), loss_bytes());
    }
    t.parameters = arena;
    t.gradients = sum_bytes(sizeof(S));
    t.optimizer_state = array_offset(2 + states) - array_offset(2);
    for (int i = 0; i < nodes; ++i) {
      if (needs_open(i)) t.open_blocks += open_bytes(i);
      if (is_derived(i)) t.derived += node_bytes(i);
      if (keeps_copy()) t.undo += summed_bytes(i);
    }
    if (choice_.extras.noise_batch > 0) t.noise = aligned(elements(1) * element_bytes(1));
    t.derived += aligned(max_scalars * std::int64_t{sizeof(Sum)} + (scales_loss ? std::int64_t{sizeof(Real)} : 0));
    t.activations = Training::plan.bytes(choice_.micro_batch);
    t.update = UpdateProgram::plan.bytes(1) + aligned(frozen * std::int64_t{sizeof(Real)} * kept_for_each);
    const std::int64_t of_update = Net::Backend::template workspace_bytes<UpdateProgram>(choice_.threads, 1);
    t.workspace = Net::Backend::template workspace_bytes<Training>(choice_.threads, choice_.micro_batch);
    t.workspace = t.workspace < of_update ? of_update : t.workspace;
    return t;
  }

  static constexpr int places = Net::Backend::Queue::places;  ///< of micro-batches' samples
  /// Of the samples of one micro-batch, which lie input after input, and of their places in the data set.
  constexpr std::int64_t place_bytes() const {
    std::int64_t bytes = row_bytes();
    for (int i = 0; i < Training::graph.counts.inputs; ++i) bytes += input_bytes(i);
    return bytes;
  }
  /// Of the losses of one micro-batch, its metrics and its weights, as the host reads them.
  constexpr std::int64_t loss_bytes() const {
    const int arrays = MetricSet::of<Training>().arrays() + Training::count_of(Role::weight);
    return aligned(arrays * Training::graph.nodes[Training::root(Role::loss)].shape.elements(choice_.micro_batch) *
                   std::int64_t{sizeof(Real)});
  }
  constexpr std::int64_t input_bytes(int i) const {
    const InputInfo& input = Training::graph.inputs[i];
    return aligned(input.shape.elements(choice_.micro_batch) * size_of(input.dtype));
  }
  /// The samples' places in the data set, which key random numbers, where kernels cannot read the host's.
  constexpr std::int64_t row_bytes() const { return Net::Backend::shares_host_memory ? 0 : aligned(choice_.micro_batch * 4); }
  static constexpr std::int64_t node_bytes(int i) {
    const Node& node = Training::graph.nodes[i];
    return aligned(node.shape.unit() * size_of(node.dtype));
  }
  /// Of the window's sums, where each takes so many bytes.
  static constexpr std::int64_t sum_bytes(std::int64_t each) {
    std::int64_t bytes = aligned(Net::parameter_elements * each);
    for (int i = 0; i < nodes; ++i) bytes += needs_shadow(i) ? aligned(Training::graph.nodes[i].shape.unit() * each) : 0;
    return bytes;
  }
  /// Of a cut's unfinished block, a chain in the type of what is summed.
  static constexpr std::int64_t open_bytes(int i) {
    return aligned(Training::graph.nodes[i].shape.unit() * std::int64_t{sizeof(Real)});
  }
  static constexpr bool is_cut(int i) { return gradual::is_cut(Training::graph.nodes[i].op->kind); }
  /// Whether node i is a cut whose sums a window can leave inside a block.
  static constexpr bool sums_in_blocks(int i) {
    return is_cut(i) && Net::Backend::template sums_in_blocks<S>(Training::graph.nodes, Training::graph.nodes[i]);
  }
  static constexpr bool is_derived(int i) {
    return Training::schedule.storage[i] == i && Training::schedule.phase[i] == Phase::prologue &&
           Training::graph.nodes[i].op->kind != Kind::input;
  }
  /// The parameter in whose place among the gradients stored node i is computed, or −1. Where two parameters have
  /// the very same gradient, or one that is not computed at the end of a window, it is copied to its place.
  static constexpr int gradient_of(int i) { return owners.parameter[i]; }
  static constexpr bool copied(int p) { return owners.copied[p]; }
  /// The first parameter whose gradient is not one sum over samples: it is known only once the window has ended. −1: none.
  static constexpr int first_known_at_end() {
    for (int p = 0; p < Net::parameter_count; ++p)
      if (owners.at_end[p]) return p;
    return -1;
  }
  static constexpr bool needs_shadow(int i) { return is_cut(i) && gradient_of(i) < 0; }
  /// A vector's open block costs little and is always there.
  constexpr bool needs_open(int i) const {
    return sums_in_blocks(i) && (choice_.open_blocks || Training::graph.nodes[i].op->kind == Kind::batch_reduce);
  }
  /// Whether the memory of its unfinished block may hold rows.
  static constexpr bool can_hold_rows(int i) { return holding_cuts.of[i]; }
  /// What a micro-batch changes: the sum of a cut, and its unfinished block.
  constexpr std::int64_t summed_bytes(int i) const {
    return is_cut(i) ? node_bytes(i) + (needs_open(i) ? open_bytes(i) : 0) : 0;
  }
  /// Positions that one sample has in the contraction of cut i.
  static constexpr std::int64_t positions(int i) {
    return cut_positions(Training::graph.nodes, Training::graph.nodes[i]);
  }

 private:
  /// Sums in two numbers become one in their place where they are measured, and blocks are closed.
  static constexpr bool measures_copies(const WindowExtras& extras) {
    return extras.noise_batch > 0 && (is_compensated<S> || extras.noise_batch % block_samples() != 0);
  }

  struct HoldingCuts {
    bool of[nodes > 0 ? nodes : 1]{};
    constexpr HoldingCuts() {
      Net::Backend::template for_holding_cuts<Training>([&](int cut) { of[cut] = true; });
    }
  };
  static constexpr HoldingCuts holding_cuts{};

  struct Owners {
    int parameter[nodes > 0 ? nodes : 1]{};
    bool copied[Net::parameter_count > 0 ? Net::parameter_count : 1]{};
    bool at_end[Net::parameter_count > 0 ? Net::parameter_count : 1]{};
  };
  static constexpr Owners find_owners() {
    Owners result;
    for (int i = 0; i < nodes; ++i) result.parameter[i] = -1;
    for (int r = 0; r < Training::graph.counts.roots; ++r) {
      const Root& root = Training::graph.roots[r];
      if (root.role != Role::gradient) continue;
      const int s = Training::schedule.storage[root.node];
      const bool made_at_end = Training::schedule.phase[s] == Phase::boundary;
      const bool in_place = result.parameter[s] < 0 && (is_cut(s) || made_at_end);
      result.at_end[root.index] = is_cut(s) ? !in_place : made_at_end;
      if (in_place) result.parameter[s] = root.index;
      else result.copied[root.index] = true;
    }
    return result;
  }
  static constexpr Owners owners = find_owners();

  /// Numbers that are kept aside for each element of a frozen parameter, itself and its states: at most, and rounded up.
  static constexpr std::int64_t most_kept_for_each() {
    std::int64_t most = 0;
    for (int p = 0; p < Net::parameter_count; ++p) {
      std::int64_t kept = 0;
      for (int a = 0; a < 2 + states; ++a) kept += a == 1 ? 0 : part_elements(a, p);
      if (const std::int64_t own = part_elements(0, p); own > 0 && (kept + own - 1) / own > most) most = (kept + own - 1) / own;
    }
    return most;
  }
  static constexpr std::int64_t kept_for_each = most_kept_for_each();

  LayoutChoice choice_;
};

}  // namespace gradual
