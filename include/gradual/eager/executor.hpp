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

/// The values of a tape, computed as they are recorded or from a finished tape, to the bits of `Reference`; a device's
/// executor says how. Constants and views (broadcasts, transposes, slices, iotas) are put into memory only on demand.
class Executor : public TapeExecutor {
 public:
  virtual ~Executor() = default;

  /// Computes a node whose operands have been run.
  void run(const Tape& tape, int id);
  /// Adds samples [begin, begin + batch) of the window to a sum; `reserve` has been called for the same. `last`: the
  /// window ends with them.
  void add_to_sum(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last);
  /// Adds the chains of an unfinished block to the sum, which is then the window's.
  void close_sum(const Tape& tape, int sum, Shadow& shadow);
  /// Whether no value of a sum, or of its open block, is infinite or NaN.
  bool sum_is_finite(const Tape& tape, int sum, const Shadow& shadow) const;

  const Device& device() const { return device_; }
  std::int64_t batch() const { return batch_; }

  /// Forgets all values; what is recorded next has `batch` samples. Where `deferring`, sums over the batch wait for
  /// `add_to_sum`, and what depends on them for `run_deferred`; the rest is noted, for sweeps that know all uses of a value.
  void reset(std::int64_t batch, bool deferring = false);

  void note(bool noting) override { noting_ = noting; }
  GRADUAL_ONCE void settle(const Tape& tape, int id) override;

  /// The next sample input, in order: the host's memory, which must outlive the values, or the device's that `owner` holds.
  void bind_input(const void* data, Storage owner = {}) { bindings_.bind_input(data, std::move(owner)); }
  /// Another place of an input, on the device.
  void rebind_input(std::size_t which, const void* data) { bindings_.rebind_input(which, data); }
  void bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets);
  /// What random numbers depend on; without it masks are 1.
  void bind_random(const Randomness& random) { random_ = random; }
  /// The numbers behind scalars, by slot, in the host's memory as the weight is; without them a scalar has its value at step 0.
  void bind_scalars(const void* scalars, DType dtype) { bindings_.bind_scalars(scalars, dtype); }
  /// The weight of the window, which is the one scalar that backward reads.
  void bind_weight(const void* weight) { bindings_.bind_weight(weight); }

  GRADUAL_ONCE void recorded(Tape& tape, int id) override;

  /// The elements of a value, row-major. Errors: MemoryError; ShapeError for what waits for the window's end; TapeError
  /// for what was given back.
  const void* dense(const Tape& tape, int id);

  /// A value as a tensor of its own: memory of the executor is shared, the caller's is copied.
  Tensor tensor(const Tape& tape, int id);

  /// The elements of a value where the host can read them, until all values are forgotten. Errors: as `dense`.
  const void* on_host(const Tape& tape, int id);
  /// The elements of an input without samples.
  const void* input_on_host(const Node& node);

  /// Whether a value lies in memory: views need not.
  bool in_memory(int id) const { return values_[id].data != nullptr; }
  /// Where an input was bound to.
  const void* input(int which) const { return bindings_.sample(static_cast<std::size_t>(which)).data; }
  /// Values that do not have one element per sample, in the order of recording, and the place of one among them.
  const std::vector<int>& unbatched() const { return window_.ids(); }
  int ordinal(int id) const { return window_.ordinal(id); }
  /// Positions of one sample in a sum.
  static std::int64_t positions(const Tape& tape, const Node& sum) { return summed_positions(tape.nodes.data(), sum); }

  /// Computes what a sum adds up. Memory for it, for its open block where samples [begin, begin + batch) begin inside
  /// one or leave one to those after them, and to add them. Errors: MemoryError.
  GRADUAL_ONCE virtual void reserve(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last);

  /// Where the values lie that operand k of a sum is made of, until it is asked again. Errors: MemoryError.
  std::span<const void* const> addresses_of_uses(const Tape& tape, int sum, int k);

  /// All of the tape is recorded: sums that no root wants, since backward has joined them, are given back, and from here on
  /// values of samples that only other values are made of when these have been computed.
  GRADUAL_ONCE void finish_recording(const Tape& tape);

  /// Gives a sum its value over the window.
  void set_sum(int sum, const Storage& total);
  /// Runs what waited for the sums, all of which are set.
  void run_deferred(const Tape& tape);
  /// Lets the sums, and what was run for them, wait again.
  void defer_again(const Tape& tape);

  /// Notes what was computed of parameters alone, which are others now.
  void derive_again(const Tape& tape);

  /// Makes room for the values of a finished tape of `count` nodes, to be run one by one.
  void expect(int count);
  /// Drops the memory of a value.
  void release(int id) { values_[id].release(); }
  /// Drops the values that have one element per sample, and workspace.
  void release_batched(const Tape& tape);

 protected:
  explicit Executor(const Device& device) : device_(device) {}

  /// Computes a node that is neither an input, a view nor a sum over the batch, and has memory of its own.
  virtual void compute(const Tape& tape, int id) = 0;
  /// Computes a node that is a join.
  virtual void compute_join(const Tape& tape, int id, const Join& join) = 0;
  /// Gives back what ops work in, which is taken again where it is needed.
  virtual void give_back_workspace() = 0;
  /// Adds the samples of a part to a sum.
  virtual void add_samples(const Tape& tape, int sum, const Shadow& shadow, std::int64_t begin, bool last) = 0;
  /// Adds an unfinished block, where there is one, to the total, which may have no value yet.
  virtual void add_open_block(const Tape& tape, int sum, const Shadow& shadow) = 0;
  /// Puts a constant or another view into memory.
  virtual void materialise(const Tape& tape, int id) = 0;

  class Sweep;

  /// New memory for a node's elements, or that of the sweep.
  void* allocate(const Tape& tape, int id);
  void hold(int id, Storage storage) { values_[id].hold(std::move(storage)); }

  void find_input(const Tape& tape, int id);
  /// Gives a node what lies in the host's memory: in place, where the device reads that.
  void read_host(const Tape& tape, int id, const void* data);
  const void* fetched(const void* data, std::int64_t bytes);

  /// Gives a node its operand's memory.
  void share(const Tape& tape, int id);
  /// A sum over a batch that is a window of its own.
  void sum_all(const Tape& tape, int id);

  void count_uses(const Node& node, int times);
  /// What computed something has read a value, which is dropped where it is of samples and nobody reads it any more.
  void has_been_read(const Tape& tape, int id);
  void has_read_operands(const Tape& tape, int id);

  Device device_;
  std::int64_t batch_ = 1;
  bool deferring_ = false, noting_ = false, sweeping_ = false;
  std::int64_t sweep_elements_ = 1 << 15;  ///< of a value that are computed at a time: what caches hold several of
  Randomness random_;
  ValueTable values_;
  WindowValues window_;
  Bindings bindings_;
  std::vector<int> needed_;  ///< by what is being settled, in order
  Joins joins_;              ///< among them
  Readers readers_;          ///< where all of the tape is recorded
  std::vector<const void*> uses_[2];  ///< where they lie that the operands of a sum are made of
  std::vector<std::pair<int, const void*>> outside_;  ///< what a sweep reads a few samples of
  std::vector<int> swept_views_;  ///< what it put into memory for these alone
  std::vector<HeapBlock> fetched_;                    ///< what the host read, where it cannot read the device's memory
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/executor.ipp>
#endif
