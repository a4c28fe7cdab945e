#pragma once
#include <span>
#include <utility>
#include <vector>

#include <gradual/autodiff/summed_positions.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/eager/bindings.hpp>
#include <gradual/eager/joins.hpp>
#include <gradual/eager/readers.hpp>
#include <gradual/eager/shadow.hpp>
#include <gradual/eager/tensor.hpp>
#include <gradual/eager/value_table.hpp>
#include <gradual/eager/window_values.hpp>

namespace gradual::eager {

/// The values of a tape, computed as they are recorded or from a finished tape, with the bits of `Reference`; a device's
/// executor implements the ops. Constants and views (broadcasts, transposes, slices, iotas) are put into memory only on demand.
class Executor : public TapeExecutor {
 public:
  GRADUAL_ONCE virtual ~Executor();

  /// Computes a node whose operands have been run.
  void run(const Tape& tape, int id);
  /// Adds samples [begin, begin + batch) of the window to a sum, after `reserve` for the same samples. `last`: the window ends
  /// with them.
  void add_to_sum(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last);
  /// Adds the chains of an unfinished block to the sum, which is then the window's.
  void close_sum(const Tape& tape, int sum, Shadow& shadow);
  /// Whether no value of a sum or of its open block is infinite or NaN.
  bool sum_is_finite(const Tape& tape, int sum, const Shadow& shadow) const;

  const Device& device() const { return device_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t elements(const Node& node) const { return node.shape.elements(batch_); }

  /// Forgets all values; what is recorded next has `batch` samples. If `deferring`, sums over the batch wait for `add_to_sum`,
  /// and what depends on them for `run_deferred`; the rest is noted, for sweeps that know all uses of a value.
  void reset(std::int64_t batch, bool deferring = false);

  bool note(bool noting) override { return std::exchange(noting_, noting); }
  GRADUAL_ONCE void settle(const Tape& tape, int id) override;
  /// Labels of a session's windows are checked with the other inputs, which calls `accept_labels`, or before the first value is
  /// read; for others the host waits.
  GRADUAL_ONCE void check_labels(const char* op, const Tape& tape, int id, const LabelRange& range, bool staged) override;
  void accept_labels() { unchecked_.clear(); }

  /// Returns what inputs are bound to. Unbound scalars have their value at step 0.
  Bindings& bindings() { return bindings_; }
  /// Sets what random numbers depend on; without it masks are 1.
  void bind_random(const Randomness& random) { random_ = random; }

  GRADUAL_ONCE void recorded(Tape& tape, int id) override;

  /// Returns the elements of a value, row-major. Errors: MemoryError; ShapeError for a value that waits for the window's end;
  /// TapeError for a released value.
  const void* dense(const Tape& tape, int id);

  /// Returns a value as a tensor of its own: the executor's memory is shared, the caller's is copied.
  Tensor tensor(const Tape& tape, int id);

  /// Returns the elements of a value where the host can read them, until all values are forgotten. Errors: as for `dense`.
  const void* on_host(const Tape& tape, int id);
  /// Returns the elements of an input without samples, where the host can read them.
  const void* input_on_host(const Node& node);

  /// Whether a value lies in memory, which views need not.
  bool in_memory(int id) const { return values_[id].data != nullptr; }
  /// Returns the address that an input was bound to.
  const void* input(int which) const { return bindings_.sample(static_cast<std::size_t>(which)).data; }
  /// Values that do not have one element per sample, in the order of recording, and the index of one among them.
  const std::vector<int>& unbatched() const { return window_.ids(); }
  int ordinal(int id) const { return window_.ordinal(id); }
  /// Returns the positions of one sample in a sum.
  static std::int64_t positions(const Tape& tape, const Node& sum) { return summed_positions(tape.nodes.data(), sum); }

  /// Computes the operands of a sum; allocates it, its open block, if samples [begin, begin + batch) begin inside a block or
  /// leave one unfinished, and the workspace for adding them. Errors: MemoryError.
  GRADUAL_ONCE virtual void reserve(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last);

  /// Returns the addresses of the values that make up operand k of a sum, until the next call for k. Errors: MemoryError.
  std::span<const void* const> addresses_of_uses(const Tape& tape, int sum, int k);

  /// Called when all of the tape is recorded: forgets sums that no root wants, since backward has joined them; from here on
  /// values of samples are released once all that reads them has been computed, unless roots want them.
  void finish_recording(const Tape& tape);

  /// Sets a sum's value over the window.
  void set_sum(int sum, const Storage& total);
  /// Runs what waited for the sums, all of which are set.
  void run_deferred(const Tape& tape);
  /// Makes the sums, and what was run for them, wait again.
  void defer_again(const Tape& tape);

  /// Marks what was computed from parameters alone, which have changed, to be computed again.
  void derive_again(const Tape& tape);

  /// Makes room for the values of a finished tape of `count` nodes, to be run one by one.
  void expect(int count);
  /// Releases the memory of a value.
  void release(int id) { values_[id].release(); }
  /// Releases the values that have one element per sample, and workspace.
  void release_batched(const Tape& tape);

 protected:
  explicit Executor(const Device& device);

  /// Computes a node that is neither an input, a view nor a sum over the batch, and has memory of its own.
  virtual void compute(const Tape& tape, int id) = 0;
  /// Computes a node that is a join.
  virtual void compute_join(const Tape& tape, int id, const Join& join) = 0;
  /// Releases the workspace of ops, which is allocated again when needed.
  virtual void give_back_workspace() = 0;
  /// Adds the samples of a part to a sum.
  virtual void add_samples(const Tape& tape, int sum, const Shadow& shadow, std::int64_t begin, bool last) = 0;
  /// Adds an unfinished block, if there is one, to the total, which may have no value yet.
  virtual void add_open_block(const Tape& tape, int sum, const Shadow& shadow) = 0;
  /// Puts a constant or another view into memory.
  virtual void materialise(const Tape& tape, int id) = 0;

  class Sweep;

  /// Returns new memory for a node's elements, or that of the sweep.
  void* allocate(const Tape& tape, int id);
  void hold(int id, Storage storage) { values_[id].hold(std::move(storage)); }

  void find_input(const Tape& tape, int id);
  /// Gives a node data in host memory: in place, if the device reads that.
  void read_host(const Tape& tape, int id, const void* data);
  const void* fetched(const void* data, std::int64_t bytes);

  /// Makes a node share its operand's memory.
  void share(const Tape& tape, int id);
  /// Computes a sum over a batch that is a window of its own.
  void sum_all(const Tape& tape, int id);

  struct Labels {
    const char* op;
    int id;
    LabelRange range;
  };
  /// Errors: DataError.
  void check(const Tape& tape, const Labels& labels);
  void check_unchecked(const Tape& tape);

  void count_uses(const Node& node, int times);
  /// Records that a computation has read a value, which is released if it is of samples and has no readers left.
  void has_been_read(const Tape& tape, int id);
  void has_read_operands(const Tape& tape, int id);

  Device device_;
  std::int64_t batch_ = 1;
  bool deferring_ = false, noting_ = false, sweeping_ = false;
  std::int64_t sweep_elements_ = 1 << 15;  ///< of a value, computed at a time: caches hold several such values
  Randomness random_;
  ValueTable values_;
  WindowValues window_;
  Bindings bindings_;
  std::vector<Labels> unchecked_;
  std::vector<int> needed_;  ///< by the value being settled, in order
  Joins joins_;              ///< among them
  Readers readers_;          ///< once all of the tape is recorded
  std::vector<const void*> uses_[2];  ///< addresses of the values that make up the operands of a sum
  std::vector<std::pair<int, const void*>> outside_;  ///< values that a sweep reads a few samples of
  std::vector<int> swept_views_;  ///< views put into memory for these samples alone
  std::vector<HeapBlock> fetched_;                    ///< copies for the host, if it cannot read the device's memory
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/executor.ipp>
#endif
