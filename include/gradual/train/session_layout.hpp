#pragma once
#include <gradual/train/session_tables.hpp>

namespace gradual {

/// A session's memory layout, to the byte: constexpr, so that sizes can be asserted before anything runs.
class SessionLayout {
 public:
  /// `window`: samples of the accumulation window, or 0 where only the micro-batch is known.
  /// Errors: OptionError for a micro-batch that is not positive; ShapeError for one whose bytes cannot be counted.
  constexpr SessionLayout(const SessionTables& tables, std::int64_t micro_batch, std::int64_t window, OpenBlocks open,
                          int threads = 1, const WindowExtras& extras = {})
      : tables_(&tables), choice_{check_countable(tables.countable, micro_batch), false, threads, extras} {
    choice_.open_blocks = open == OpenBlocks::always || measures_copies() ||
                          (micro_batch != window && micro_batch % tables.block_samples != 0);
  }

  constexpr const SessionTables& tables() const { return *tables_; }
  constexpr const LayoutChoice& choice() const { return choice_; }
  constexpr std::int64_t micro_batch() const { return choice_.micro_batch; }
  /// Returns the same persistent memory with another micro-batch. Errors: as the constructor.
  constexpr SessionLayout with_micro_batch(std::int64_t micro_batch) const {
    SessionLayout other = *this;
    other.choice_.micro_batch = check_countable(tables_->countable, micro_batch);
    return other;
  }

  /// Whether it has room for a copy of the sums, to undo changes: a micro-batch that was added, or what measuring needs.
  constexpr bool keeps_copy() const { return choice_.extras.undo || measures_copies(); }
  /// Whether a sum has memory for an unfinished block.
  constexpr bool needs_open(const SampleSum& sum) const { return sum.in_blocks && (choice_.open_blocks || sum.is_reduced); }
  /// Returns the bytes that a micro-batch changes: a sum, and its unfinished block.
  constexpr std::int64_t summed_bytes(const SampleSum& sum) const {
    return tables_->node_bytes(sum) + (needs_open(sum) ? tables_->open_bytes(sum) : 0);
  }

  /// Returns the bytes by category. `gather`: samples are copied together from anywhere in a data set instead of being read in
  /// place, as every backend with its own memory does. `frozen`: number of parameter elements that an update must not change,
  /// which are kept aside while it runs, unless it works by element.
  constexpr MemoryTable table(bool gather = false, std::int64_t frozen = 0) const {
    const SessionTables& of = *tables_;
    MemoryTable t;
    if (gather || !of.shares_host_memory) {
      t.inputs = place_bytes() * of.places;
      t.pinned = of.pinned_bytes(place_bytes(), loss_bytes());
    }
    t.parameters = of.array_offset(1);
    t.gradients = of.bytes_of_sums(of.shadow_bytes);
    t.optimizer_state = of.array_offset(of.arrays()) - of.array_offset(2);
    for (const SampleSum& sum : of.sums) {
      if (needs_open(sum)) t.open_blocks += of.open_bytes(sum);
      if (keeps_copy()) t.undo += summed_bytes(sum);
    }
    for (int i = 0; i < of.training.size(); ++i)
      if (of.training.is_derived(i)) t.derived += of.training.node_bytes(i);
    if (choice_.extras.noise_batch > 0) t.noise = aligned(of.elements(1) * of.element_bytes(1));
    t.derived += aligned(of.max_scalars * of.sum_bytes + (of.scales_loss ? of.real_bytes : 0));
    t.activations = of.training.transient_bytes(choice_.micro_batch);
    t.update = of.update_bytes(of.parameter_elements) + aligned(frozen * of.real_bytes * of.kept_for_each);
    t.workspace = std::max(of.training_workspace(choice_.threads, choice_.micro_batch),
                           of.update_workspace(choice_.threads, 1));
    return t;
  }

  /// Returns the bytes of the samples of one micro-batch, input after input, and of their places in the data set.
  constexpr std::int64_t place_bytes() const {
    std::int64_t bytes = row_bytes();
    for (const InputInfo& input : tables_->training.inputs) bytes += input_bytes(input);
    return bytes;
  }
  /// Returns the bytes of the losses, metrics and weights of one micro-batch, as the host reads them.
  constexpr std::int64_t loss_bytes() const {
    return aligned(tables_->loss_arrays * tables_->loss_unit * choice_.micro_batch * tables_->real_bytes);
  }
  constexpr std::int64_t input_bytes(const InputInfo& input) const {
    return aligned(input.shape.elements(choice_.micro_batch) * size_of(input.dtype));
  }

 private:
  /// Whether measuring needs a copy: it turns sums in two numbers into one in their place, and closes blocks.
  constexpr bool measures_copies() const {
    const std::int64_t batch = choice_.extras.noise_batch;
    return batch > 0 && (tables_->is_compensated || batch % tables_->block_samples != 0);
  }
  /// Returns the bytes of the samples' places in the data set, which key random numbers, where kernels cannot read the host's.
  constexpr std::int64_t row_bytes() const {
    return tables_->shares_host_memory ? 0 : aligned(choice_.micro_batch * std::int64_t{sizeof(std::int32_t)});
  }

  const SessionTables* tables_;
  LayoutChoice choice_;
};

/// The layout of a session of `Net` with a rule, with sums held in S. Errors: as those of `SessionLayout`.
template <class Net, class Rule, ShadowType S = typename Net::Real>
struct TrainingLayout : SessionLayout {
  using Training = typename Net::template TrainingIn<S, (loss_scales<Rule> > 0)>;
  using UpdateProgram = typename Net::template UpdateOf<Rule, S>;

  constexpr TrainingLayout(std::int64_t micro_batch, std::int64_t window, OpenBlocks open, int threads = 1,
                           const WindowExtras& extras = {})
      : SessionLayout(session_tables<Net, Rule, S>, micro_batch, window, open, threads, extras) {}
};

}  // namespace gradual
