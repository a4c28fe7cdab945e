#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/autodiff/needed_kernels.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/train/deferred_check.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/sample_maker.hpp>
#include <gradual/train/session_plan.hpp>
#include <gradual/train/update_of_ranges.hpp>
#include <gradual/train/update_program.hpp>

namespace gradual::detail {

/// The initial value of a rule's state, for a parameter of this name.
using InitialState = std::function<float(int state, std::string_view parameter)>;

/// A session's memory: its two blocks, the place of every value of its programs in them, and the queue that runs these. Knows
/// its net and optimizer only as tables and kernels, so that all sessions with the same number types share its code.
/// S: the type that holds a window's sums.
template <class Where, class R, class S>
class SessionArena {
 public:
  using Backend = Where;
  using Real = R;
  using Shadow = S;
  using Sum = SumOf<S>;
  using Queue = typename Backend::Queue;
  using Kernels = typename Backend::Kernels;
  /// The kernels of the training step, and of the update.
  struct Programs {
    const Kernels* training;
    const Kernels* update;
  };

  /// `options`: checked. Parameters begin as declared, states as given by `initial_state`. Errors: as `Session`.
  SessionArena(const SessionTables& tables, const Programs& programs, const SessionOptions& options, bool counts_calls,
               const InitialState& initial_state);

  /// Returns the heap bytes beside its blocks and its queue, where nothing is frozen.
  static constexpr std::int64_t heap_bytes(const SessionTables& tables) {
    return static_cast<std::int64_t>(place_count(tables) * sizeof(void*) + offset_count(tables) * sizeof(std::int64_t));
  }

  const SessionTables& tables() const { return *tables_; }
  const Kernels& training() const { return *programs_.training; }
  const Kernels& updating() const { return *programs_.update; }
  const SessionPlan& plan() const { return plan_; }
  const MemoryTable& table() const { return plan_.table(); }
  std::int64_t micro_batch() const { return plan_.micro_batch(); }
  std::int64_t bytes() const { return persistent_.size() + transient_.size(); }
  const typename Backend::Memory& transient() const { return transient_; }
  std::span<std::byte> transient_bytes() const { return transient_.bytes(); }
  const Frozen& frozen() const { return frozen_; }
  std::int64_t parameter_elements() const { return tables_->parameter_elements; }

  /// Plans again for another budget. Errors: MemoryError; nothing is changed where no micro-batch fits.
  void set_budget(Budget budget);
  /// Allocates the transient block if it is missing, a smaller one where the system refuses. Errors: MemoryError, and
  /// OptionError where the arena was moved from.
  void require_transient() {
    require_persistent();
    if (!placed_) take_transient();
  }

  /// Return the arrays of an update: parameters, the window's summed gradients, and the optimizer's states.
  Real* parameters() const { return array(0); }
  Sum* gradients() const {
    require_persistent();
    return gradients_;
  }
  Real* state(int index) const { return array(2 + index); }
  Real* array(int index) const {
    require_persistent();
    return reinterpret_cast<Real*>(persistent_.data() + tables_->array_offset(index));
  }
  /// Returns one parameter's part of an array.
  void* part(int index, int parameter) const {
    return reinterpret_cast<std::byte*>(array(index)) +
           tables_->part_begin(index, parameter) * tables_->element_bytes(index);
  }
  /// Return the place in which a sum grows, and that of its unfinished block; null where there is none.
  S* total(const SampleSum& sum) const { return static_cast<S*>(address()[sum.node]); }
  Real* open_block(const SampleSum& sum) const { return static_cast<Real*>(open()[sum.node]); }
  /// Whether anything that learns needs the sum: frozen parameters do not.
  bool needs(const SampleSum& sum) const { return needed_.asks_for(sum.node); }
  /// Whether the sum has an unfinished block in a window that has come to sample `position`.
  bool is_open(const SampleSum& sum, std::int64_t position) const {
    return open()[sum.node] != nullptr && needs(sum) &&
           is_inside_block(position * sum.positions, sum.positions);
  }
  /// Sets the window's sample from which new blocks are held as rows; older ones are held as chains. All are chains where sums
  /// are copied, and where several threads would read each other's rows in blocks of only two micro-batches.
  void hold_rows_from(std::int64_t position);
  /// Copies the chains of a sum's unfinished block, in a window that has come to `position`, to the host.
  void read_open(const SampleSum& sum, std::int64_t position, void* to) const;
  /// Returns the values stored for a node.
  const Real* value(int node) const { return static_cast<const Real*>(address()[node]); }

  /// Returns the queue, which moves bytes and runs kernels.
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }

  /// Lets the inputs be read in place from `data`, one pointer per input, beginning at a sample; or copies `count` samples to
  /// the device.
  void bind(std::int64_t first_sample, std::int64_t count, const void* const* data, DeferredCheck& check);
  /// Copies the samples `rows` together and binds them. Returns where kernels read `rows`.
  const std::int32_t* gather(std::span<const std::int32_t> rows, const void* const* data);
  /// Does the same with samples that are made in place.
  const std::int32_t* make(std::span<const std::int32_t> rows, SampleMaker& maker);

  /// Returns the training program's arguments for `part` samples that begin at place `begin` of the window.
  StepArguments arguments(std::int64_t part, std::int64_t begin, bool first, bool last) const {
    StepArguments a;
    a.address = address();
    a.open = open();
    a.needed = needed_.groups();
    a.workspace = workspace();
    a.batch = part;
    a.begin = begin;
    a.first = first;
    a.last = last;
    a.held_from = held_from_;
    a.random = random_;
    return a;
  }
  /// Sets the seed of random numbers.
  void set_seed(std::uint64_t seed) { random_.seed = seed; }
  /// Begins the step after `steps` others: random numbers shared by samples are drawn for it.
  void begin_step(std::int64_t steps) { random_.step = static_cast<std::uint64_t>(steps); }

  /// Adds the unfinished blocks of a window that has come to sample `position`.
  void close_blocks(std::int64_t position);
  /// Copy all sums of the window, and restore them. `position`: the sample that it has come to.
  void keep_sums(std::int64_t position);
  void restore_sums(std::int64_t position);
  /// Whether all sums of the window are finite. `closed`: the window's last block is closed.
  bool sums_are_finite(std::int64_t position, bool closed);

  /// Whether all gradients that are not frozen are finite.
  bool gradients_are_finite() {
    return frozen_.all_of_free([&](auto range) {
      return queue_.all_finite(gradients() + range.begin, range.end - range.begin);
    });
  }
  /// Returns the squares of the gradients that are not frozen. `first`: they are not yet measured in this window.
  GradientSquares square_gradients(bool first = false);
  /// Does the same for a window of this weight that has come to sample `position` and goes on.
  GradientSquares square_so_far(std::int64_t position, double weight, bool first);

  /// Sets the factor by which the losses of the next samples are scaled.
  void set_loss_scale(double scale);

  /// Runs the batch-free rest of the backward pass, for a window of this weight: then all gradients are in place.
  void finish_gradients(double weight);
  /// Returns the summed gradients. `unfinished`: sums of samples are still in the form in which kernels add to them; gradients
  /// computed from them at the end of the window are not there yet.
  auto sums(bool unfinished) const {
    const auto now = queue_.view(static_cast<const Sum*>(gradients()), parameter_elements());
    if constexpr (is_compensated<S>) {
      std::vector<Sum> values(now.begin(), now.end());
      for (const SampleSum& sum : tables_->sums) {
        if (!unfinished || sum.parameter < 0) continue;
        const auto pairs = queue_.view(static_cast<const S*>(total(sum)), sum.unit);
        std::ranges::transform(pairs, values.begin() + tables_->part_begin(1, sum.parameter), &S::value);
      }
      return values;
    } else {
      return now;
    }
  }
  /// Runs the rule, once, with its scalars.
  void update(std::span<const Sum> scalars);
  /// Restores frozen parameters from a rule's last state.
  void put_back_frozen();

 private:
  int nodes() const { return tables_->training.size(); }
  void** address() const { return places_.get(); }         // of values, by node
  void** open() const { return address() + nodes(); }      // of unfinished blocks
  void** kept() const { return address() + 2 * nodes(); }  // of copies of sums and, after them, of open blocks
  void** update_address() const { return address() + 3 * nodes(); }
  static constexpr std::size_t place_count(const SessionTables& tables) {
    return static_cast<std::size_t>(3 * tables.training.size() + tables.update_nodes);
  }
  static constexpr std::size_t offset_count(const SessionTables& tables) {
    return static_cast<std::size_t>(std::max(tables.training.size(), tables.update_nodes)) + 1;
  }

  /// Whether the memory of an unfinished block holds rows.
  bool holds_rows(const SampleSum& sum, std::int64_t position) const {
    return is_open(sum, position) && sum.may_hold_rows &&
           block_begin(position * sum.positions, sum.positions) / sum.positions >= held_from_;
  }
  /// Adds up such rows into `open`, or, where that is null, into the total.
  void sum_held(const SampleSum& sum, std::int64_t position, std::byte* workspace, void* open) const;

  auto bytes_of_part() const {
    return [this](int array, int p) {
      const std::int64_t bytes = tables_->part_elements(array, p) * tables_->element_bytes(array);
      return std::span(static_cast<std::byte*>(part(array, p)), static_cast<std::size_t>(bytes));
    };
  }
  void require_persistent() const {
    if (persistent_.data() == nullptr) [[unlikely]] refuse_moved();  // it holds at least a rule's numbers
  }
  std::byte* workspace() const { return transient_.data() + (table().transient() - table().workspace); }
  /// Returns the place of an input or root of the update program.
  void* part_of_array(std::int64_t index) const {
    const auto [which, parameter] = update_place(index, tables_->arrays());
    return parameter < 0 ? array(which) : part(which, parameter);
  }
  void bind_input(std::size_t input, const void* samples) {
    if (const int node = tables_->inputs[input].node; node >= 0) address()[node] = const_cast<void*>(samples);
  }
  /// Calls f(input, offset of its samples) for inputs as they are staged; returns the offset at which they end.
  template <class F>
  std::int64_t for_staged(F f) const {
    std::int64_t end = 0;
    for (std::size_t i = 0; i < tables_->inputs.size(); ++i) {
      f(i, end);
      end += plan_.layout().input_bytes(tables_->training.inputs[i]);
    }
    return end;
  }
  void bind_staged(const std::byte* place);
  /// Sends them to the device, with their rows, which are put at `end`, behind them; returns their place there.
  template <class DeviceQueue>
  std::byte* send_staged(DeviceQueue& queue, std::byte* host, std::int64_t end, std::span<const std::int32_t> rows);

  /// Calls f(values, their place in the copy, their number) for a window's sums and unfinished blocks.
  template <class F>
  void each_sum(std::int64_t position, F f) const;

  void take_transient();
  /// Frees the transient block; the next one is for this micro-batch.
  void plan_again(std::int64_t micro_batch);
  void place_persistent();
  void place_transient();
  /// Gives parameters, and those states that do not begin with 0, their initial values.
  void begin(const InitialState& initial_state, std::uint64_t seed);

  const SessionTables* tables_;
  Programs programs_;
  Frozen frozen_;
  NeededKernels needed_;  // of the training step
  UpdateOfRanges ranges_;
  SessionPlan plan_;
  std::unique_ptr<void*[]> places_;    // one list for `address`, `open`, `kept` and `update_address`
  std::vector<std::int64_t> offsets_;  // scratch for placing transient values
  typename Backend::Memory persistent_, transient_;
  Queue queue_;
  bool placed_ = false;      // the transient block exists, and addresses point into it
  bool keeps_copy_ = false;  // of sums, as chains
  std::int64_t held_from_ = 0;
  Randomness random_;  // of a step
  Sum* gradients_ = nullptr;
  Sum* scalars_ = nullptr;           // in the persistent block, where kernels read them
  Sum* gradients_before_ = nullptr;  // those last seen by `square_gradients`
};

}  // namespace gradual::detail

#include <gradual/train/session_arena.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionArena<Cpu, float, float>;
}
#endif
