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
#include <gradual/train/frozen.hpp>
#include <gradual/train/noise_measure.hpp>
#include <gradual/train/sample_maker.hpp>
#include <gradual/train/session_plan.hpp>
#include <gradual/train/update_of_ranges.hpp>
#include <gradual/train/update_program.hpp>
#include <gradual/train/validation.hpp>

namespace gradual::detail {

/// What a rule's states begin with, for a parameter of this name.
using InitialState = std::function<float(int state, std::string_view parameter)>;

/// A session's memory: its two blocks, where every value of its programs lies in them, and the queue that runs these. Of its
/// net and its optimizer it knows tables and kernels, so that all sessions of one type of numbers share its code.
/// S: what a window's sums are held in.
template <class Where, class R, class S>
class SessionArena {
 public:
  using Backend = Where;
  using Real = R;
  using Shadow = S;
  using Sum = SumOf<S>;
  using Queue = typename Backend::Queue;
  using Kernels = typename Backend::Kernels;
  /// Of the training step, and of the update.
  struct Programs {
    const Kernels* training;
    const Kernels* update;
  };

  /// `options`: checked. Parameters begin as they are declared, states with what `initial_state` says.
  /// Errors: as `Session`.
  SessionArena(const SessionTables& tables, const Programs& programs, const SessionOptions& options, bool counts_calls,
               const InitialState& initial_state);

  /// Bytes of the heap beside its blocks and its queue, where nothing is frozen.
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
  /// Takes the transient block where it is not there, a smaller one where the system refuses. Errors: MemoryError, and
  /// OptionError where the arena was moved from.
  void require_transient() {
    require_persistent();
    if (!placed_) take_transient();
  }

  /// Parameters, the window's summed gradients, and the optimizer's states: the arrays of an update.
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
  /// One parameter's part of an array.
  void* part(int index, int parameter) const {
    return reinterpret_cast<std::byte*>(array(index)) +
           tables_->part_begin(index, parameter) * tables_->element_bytes(index);
  }
  /// Where a sum grows, and its unfinished block; null where there is none.
  S* total(const SampleSum& sum) const { return static_cast<S*>(address()[sum.node]); }
  Real* open_block(const SampleSum& sum) const { return static_cast<Real*>(open()[sum.node]); }
  /// Whether anything that learns needs it: what is frozen does not.
  bool needs(const SampleSum& sum) const { return needed_.asks_for(sum.node); }
  /// Whether it has an unfinished block where a window has come to sample `position`.
  bool is_open(const SampleSum& sum, std::int64_t position) const {
    return open()[sum.node] != nullptr && needs(sum) &&
           block_begin(position * sum.positions, sum.positions) != position * sum.positions;
  }
  /// From which sample of the window on blocks that begin are held as rows; older ones lie there as chains.
  /// All are chains where sums are copied, and where several threads would read each other's rows of but two micro-batches.
  void hold_rows_from(std::int64_t position);
  /// Copies the chains of that block, in a window that has come to `position`, to the host.
  void read_open(const SampleSum& sum, std::int64_t position, void* to) const;
  /// What a node stores.
  const Real* value(int node) const { return static_cast<const Real*>(address()[node]); }

  /// Moves bytes and tells what kernels computed.
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }

  /// Lets the inputs be read from where they lie in `data`, input after input, beginning at a sample; or copies `count` samples
  /// to the device.
  void bind(std::int64_t first_sample, std::int64_t count, const void* const* data, Validation& validation);
  /// Copies the samples `rows` together and binds them. Returns where kernels read `rows`.
  const std::int32_t* gather(std::span<const std::int32_t> rows, const void* const* data);
  /// The same of samples that are made there.
  const std::int32_t* make(std::span<const std::int32_t> rows, SampleMaker& maker);

  /// What the training program is told of `part` samples that begin at place `begin` of the window.
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
  /// What random numbers are drawn by.
  void set_seed(std::uint64_t seed) { random_.seed = seed; }
  /// After `steps` others: what samples share is drawn for it.
  void begin_step(std::int64_t steps) { random_.step = static_cast<std::uint64_t>(steps); }

  /// Adds the unfinished blocks of a window that has come to sample `position`.
  void close_blocks(std::int64_t position);
  /// Copies all that the window has summed, and puts it back. `position`: the sample that it has come to.
  void keep_sums(std::int64_t position);
  void restore_sums(std::int64_t position);
  /// Whether all sums of the window are finite. `closed`: the window's last block is.
  bool sums_are_finite(std::int64_t position, bool closed);

  /// Whether all gradients that are not frozen are finite.
  bool gradients_are_finite() {
    return std::ranges::all_of(frozen_.free(), [&](auto range) {
      return queue_.all_finite(gradients() + range.begin, range.end - range.begin);
    });
  }
  /// Squares of the gradients that are not frozen. `first`: they are not yet looked at in this window.
  GradientSquares square_gradients(bool first);
  /// The same of a window of this weight that has come to sample `position` and goes on.
  GradientSquares square_so_far(std::int64_t position, double weight, bool first);

  /// By what the losses of the next samples are scaled.
  void set_loss_scale(double scale);

  /// The batch-free rest of backward, for a window of this weight: then all gradients lie in their places.
  void finish_gradients(double weight);
  /// The summed gradients. `unfinished`: sums of samples still lie there as kernels add to them; what is made of them once
  /// the window has ended, does not yet.
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
  /// The rule, once, given its scalars.
  void update(std::span<const Sum> scalars);
  /// Makes the step where all gradients are finite. Returns whether.
  template <class F>
  bool update_if_finite(F make) {
    return queue_.run_if_finite(*programs_.update, gradients(), parameter_elements(), make);
  }
  /// The same where also the losses must be finite, which come `meanwhile`: on a device that knows them before the host.
  template <class F, class G>
  bool update_if_finite(F make, G meanwhile) {
    return queue_.run_if_finite_with_losses(gradients(), parameter_elements(), make, meanwhile);
  }
  /// Puts frozen parameters back to where a rule's last state has them.
  void put_back_frozen();

 private:
  int nodes() const { return tables_->training.size(); }
  void** address() const { return places_.get(); }         // of a value, by node
  void** open() const { return address() + nodes(); }      // of unfinished blocks
  void** kept() const { return address() + 2 * nodes(); }  // of copies of sums and, behind them, of open blocks
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
  /// Their sums, to `open`, or, null, to the total.
  void sum_held(const SampleSum& sum, std::int64_t position, std::byte* workspace, void* open) const;

  auto bytes_of_part() const {
    return [this](int array, int p) {
      const std::int64_t bytes = tables_->part_elements(array, p) * tables_->element_bytes(array);
      return std::span(static_cast<std::byte*>(part(array, p)), static_cast<std::size_t>(bytes));
    };
  }
  void require_persistent() const {
    if (persistent_.data() == nullptr) [[unlikely]] refuse_moved();  // it holds a rule's numbers at least
  }
  std::byte* workspace() const { return transient_.data() + (table().transient() - table().workspace); }
  /// The place of an input or root of the update program.
  void* part_of_array(std::int64_t index) const {
    const auto [which, parameter] = update_place(index, tables_->arrays());
    return parameter < 0 ? array(which) : part(which, parameter);
  }
  void bind_input(std::size_t input, const void* samples) {
    if (const int node = tables_->inputs[input].node; node >= 0) address()[node] = const_cast<void*>(samples);
  }
  /// Calls f(input, where its samples begin) for inputs as they are put together; returns where they end.
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
  /// Sends them to the device, their rows, which go to `end`, behind them, and returns where they lie there.
  template <class DeviceQueue>
  std::byte* send_staged(DeviceQueue& queue, std::byte* host, std::int64_t end, std::span<const std::int32_t> rows);

  /// f(values, their place in the copy, how many) for the sums of a window, and for its unfinished blocks.
  template <class F>
  void each_sum(std::int64_t position, F f) const;

  void take_transient();
  /// Frees the transient block; the next one is for this micro-batch.
  void plan_again(std::int64_t micro_batch);
  void place_persistent();
  void place_transient();
  /// Gives parameters, and those states that do not begin with 0, what they begin with.
  void begin(const InitialState& initial_state, std::uint64_t seed);

  const SessionTables* tables_;
  Programs programs_;
  Frozen frozen_;
  NeededKernels needed_;  // of the training step
  UpdateOfRanges ranges_;
  SessionPlan plan_;
  std::unique_ptr<void*[]> places_;    // one list, of all that `address`, `open`, `kept` and `update_address` tell
  std::vector<std::int64_t> offsets_;  // room to place what is transient
  typename Backend::Memory persistent_, transient_;
  Queue queue_;
  bool placed_ = false;      // the transient block is there, and addresses are its
  bool keeps_copy_ = false;  // of sums, as chains
  std::int64_t held_from_ = 0;
  Randomness random_;  // of a step
  Sum* gradients_ = nullptr;
  Sum* scalars_ = nullptr;           // in the persistent block, where kernels read them
  Sum* gradients_before_ = nullptr;  // those that `square_gradients` saw
};

}  // namespace gradual::detail

#include <gradual/train/session_arena.ipp>

#ifdef GRADUAL_SHARED_KERNELS
namespace gradual::detail {
extern template class SessionArena<Cpu, float, float>;
}
#endif
