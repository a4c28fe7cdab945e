#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <gradual/autodiff/cut_positions.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/eager/bindings.hpp>
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/shadow.hpp>
#include <gradual/eager/tensor.hpp>
#include <gradual/eager/value_table.hpp>
#include <gradual/eager/window_values.hpp>
#include <gradual/eager/with_type.hpp>

namespace gradual::eager {

/// The values of a tape, computed as they are recorded or from a finished tape, to the bits of `Reference`; a device's
/// executor says how. Constants and views (broadcasts, transposes, slices, iotas) are put into memory only on demand.
class Executor : public TapeExecutor {
 public:
  virtual ~Executor() = default;

  /// Computes a node whose operands have been run.
  void run(const Tape& tape, int id) {
    switch (tape[id].op->kind) {
      case Kind::input: return find_input(tape, id);
      case Kind::constant:
      case Kind::iota:
      case Kind::broadcast:
      case Kind::transpose:
      case Kind::slice:
      case Kind::uses: return;
      case Kind::reshape: return share(tape, id);
      case Kind::map: return is<StopGradient>(tape[id]) ? share(tape, id) : compute(tape, id);
      case Kind::batch_reduce:
      case Kind::batch_contract:
      case Kind::batch_convolve:
      case Kind::batch_scatter: return sum_all(tape, id);
      default: return compute(tape, id);
    }
  }
  /// Adds samples [begin, begin + batch) of the window to a cut's sum; `reserve` has been called for the same. `last`: the
  /// window ends with them.
  void add_cut(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) {
    const std::int64_t p = positions(tape, tape[cut]), first = begin * p, end = first + batch_ * p;
    if (first == end) return;
    if (shadow.ends_before(first)) close_cut(tape, cut, shadow);
    if (shadow.lacks_block_of(first, p)) device_.clear(shadow.open().data(), bytes_of(tape[cut].shape, 1, tape[cut].dtype));
    add_samples(tape, cut, shadow, begin, last);
    shadow.extend(end, p, last);
  }
  /// Adds the chains of an unfinished block to the sum, which is then the window's.
  void close_cut(const Tape& tape, int cut, Shadow& shadow) {
    add_open_block(tape, cut, shadow);
    shadow.close();
  }
  /// Whether no value of a cut's sum, or of its open block, is infinite or NaN.
  bool cut_is_finite(const Tape& tape, int cut, const Shadow& shadow) const {
    return with_real(tape[cut], [&](auto t) { return shadow.is_finite<decltype(t)>(device_, tape[cut].shape.unit()); });
  }

  const Device& device() const { return device_; }
  std::int64_t batch() const { return batch_; }

  /// Forgets all values; what is recorded next has `batch` samples. Where `deferring`, sums over the batch wait for
  /// `add_cut`, and what depends on them for `run_deferred`; the rest is noted, for sweeps that know all uses of a value.
  void reset(std::int64_t batch, bool deferring = false) {
    values_.clear();
    window_.reset(deferring);
    bindings_.reset();
    fetched_.clear();
    batch_ = batch;
    random_ = {};
    deferring_ = deferring;
  }

  void note(bool noting) override { noting_ = noting; }
  inline void settle(const Tape& tape, int id) override;  // else its table would be part of every program

  /// The next sample input, in order: the host's memory, which must outlive the values, or the device's that `owner` holds.
  void bind_input(const void* data, Storage owner = {}) { bindings_.bind_input(data, std::move(owner)); }
  /// Another place of an input, on the device.
  void rebind_input(std::size_t which, const void* data) { bindings_.rebind_input(which, data); }
  void bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets) {
    bindings_.bind_parameters(values, dtype, offsets);
  }
  /// What random numbers depend on; without it masks are 1.
  void bind_random(const Randomness& random) { random_ = random; }
  /// The numbers behind scalars, by slot, in the host's memory as the weight is; without them a scalar has its value at step 0.
  void bind_scalars(const void* scalars, DType dtype) { bindings_.bind_scalars(scalars, dtype); }
  /// The weight of the window, which is the one scalar that backward reads.
  void bind_weight(const void* weight) { bindings_.bind_weight(weight); }

  void recorded(Tape& tape, int id) override {
    try {
      values_.resize(id + 1);
      count_uses(tape[id], 1);
      if (window_.add(tape, id)) return;
      const Kind kind = tape[id].op->kind;
      if (noting_ || (deferring_ && kind != Kind::input && kind != Kind::gather)) values_[id].noted = true;
      else run(tape, id);
    } catch (...) {
      if (values_.size() > id) count_uses(tape[id], -1);
      values_.resize(id);
      window_.remove(id);
      tape.nodes.pop_back();
      throw;
    }
  }

  /// The elements of a value, row-major. Errors: MemoryError; ShapeError for what waits for the window's end; TapeError
  /// for what was given back.
  const void* dense(const Tape& tape, int id) {
    Value& value = values_[id];
    if (window_.waits(id)) throw ShapeError("the gradient of a batch is read inside a window: it is known only at its end");
    if (value.noted) settle(tape, id);
    if (value.data == nullptr) {
      if (!is_view(tape[id].op->kind))
        throw TapeError("value " + std::to_string(id) + " was read after its part had been added to the window");
      if (sweeping_ && tape[id].shape.batched()) swept_views_.push_back(id);
      materialise(tape, id);
    }
    return value.data;
  }

  /// A value as a tensor of its own: memory of the executor is shared, the caller's is copied.
  Tensor tensor(const Tape& tape, int id) {
    const Node& node = tape[id];
    Shape shape = node.shape;
    if (shape.batched()) shape.extent[shape.batch_axis] *= batch_;
    shape.batch_axis = -1;
    const void* data = dense(tape, id);
    if (Storage& owner = values_[id].storage; !owner.empty()) return {device_, node.dtype, shape, owner};
    const std::int64_t bytes = bytes_of(shape, 1, node.dtype);
    Storage copy = device_.allocate(bytes);
    device_.copy(copy.data(), data, bytes);
    return {device_, node.dtype, shape, std::move(copy)};
  }

  /// The elements of a value where the host can read them, until all values are forgotten. Errors: as `dense`.
  const void* on_host(const Tape& tape, int id) {
    const void* const data = dense(tape, id);
    return device_.shares_host_memory() ? data : fetched(data, bytes_of(tape[id].shape, batch_, tape[id].dtype));
  }
  /// Those of an input without samples.
  const void* input_on_host(const Node& node) {
    const Bindings::Given& given = bindings_.sample(static_cast<std::size_t>(node.attributes.integer[0]));
    const bool readable = device_.shares_host_memory() || !given.on_device;
    return readable ? given.data : fetched(given.data, bytes_of(node.shape, 1, node.dtype));
  }

  /// Whether a value lies in memory: views need not.
  bool in_memory(int id) const { return values_[id].data != nullptr; }
  /// Where an input was bound to.
  const void* input(int which) const { return bindings_.sample(static_cast<std::size_t>(which)).data; }
  /// Values that do not have one element per sample, in the order of recording, and the place of one among them.
  const std::vector<int>& unbatched() const { return window_.ids(); }
  int ordinal(int id) const { return window_.ordinal(id); }
  /// Positions of one sample in the sum of a cut.
  static std::int64_t positions(const Tape& tape, const Node& cut) { return cut_positions(tape.nodes.data(), cut); }

  /// Computes what a cut adds up. Memory for its sum, for its open block where samples [begin, begin + batch) begin inside
  /// one or leave one to those after them, and to add them. Errors: MemoryError.
  virtual void reserve(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) {
    const std::int64_t p = positions(tape, tape[cut]);
    shadow.reserve(device_, bytes_of(tape[cut].shape, 1, tape[cut].dtype), begin * p, (begin + batch_) * p, p, last);
    for (int k = 0; k < tape[cut].op->arity; ++k) addresses_of_uses(tape, cut, k);
  }

  /// Where the values lie that operand k of a cut is made of, until it is asked again. Errors: MemoryError.
  std::span<const void* const> addresses_of_uses(const Tape& tape, int cut, int k) {
    const int operand = tape[cut].in[k], count = count_of_uses(tape.nodes.data(), operand);
    for (int u = 0; u < count; ++u) dense(tape, use_of(tape.nodes.data(), operand, u));
    uses_[k].clear();
    for (int u = 0; u < count; ++u) uses_[k].push_back(values_[use_of(tape.nodes.data(), operand, u)].data);
    return uses_[k];
  }

  /// Gives back what waits for the window's end and no root wants: sums that backward has joined.
  void forget_unwanted(const Tape& tape) { window_.forget_unwanted(tape); }

  /// Gives a cut its sum over the window.
  void set_cut(int cut, const Storage& total) {
    hold(cut, total);
    window_.end_wait(cut);
  }
  /// Runs what waited for the cuts, all of which are set.
  void run_deferred(const Tape& tape) {
    for (const int id : window_.ids())
      if (window_.waits(id)) {
        for (int k = 0; k < tape[id].op->arity; ++k) settle(tape, tape[id].in[k]);
        run(tape, id);
        window_.end_wait(id);
      }
  }
  /// Lets the cuts, and what was run for them, wait again.
  void defer_again(const Tape& tape) {
    for (const int id : window_.ids())
      if (window_.defer(tape, id)) release(id);
  }

  /// Notes what was computed of parameters alone, which are others now.
  void derive_again(const Tape& tape) {
    std::vector<char> derived(static_cast<std::size_t>(tape.size()));
    for (const int id : window_.ids()) {
      char& of_parameters = derived[static_cast<std::size_t>(id)];
      of_parameters = is_input(tape[id], Input::parameter);
      for (int k = 0; k < tape[id].op->arity; ++k) of_parameters |= derived[static_cast<std::size_t>(tape[id].in[k])];
      if (of_parameters == 0 || tape[id].op->kind == Kind::input || window_.waits(id)) continue;
      release(id);
      values_[id].noted = !is_view(tape[id].op->kind);
    }
  }

  /// Makes room for the values of a finished tape of `count` nodes, to be run one by one.
  void expect(int count) {
    values_.resize(count);
    window_.expect(count);
  }
  /// Drops the memory of a value.
  void release(int id) { values_[id].release(); }
  /// Drops the values that have one element per sample.
  void release_batched(const Tape& tape) {
    for (int i = 0; i < values_.size(); ++i)
      if (tape[i].shape.batched()) release(i);
  }

 protected:
  explicit Executor(const Device& device) : device_(device) {}

  /// Computes a node that is neither an input, a view nor a sum over the batch, and has memory of its own.
  virtual void compute(const Tape& tape, int id) = 0;
  /// Adds the samples of a part to the sum of a cut; and an unfinished block, where there is one, to what may be fresh.
  virtual void add_samples(const Tape& tape, int cut, const Shadow& shadow, std::int64_t begin, bool last) = 0;
  virtual void add_open_block(const Tape& tape, int cut, const Shadow& shadow) = 0;
  /// Puts a constant or another view into memory.
  virtual void materialise(const Tape& tape, int id) = 0;

  class Sweep;

  /// New memory for a node's elements, or that of the sweep.
  void* allocate(const Tape& tape, int id) {
    if (sweeping_) return const_cast<void*>(values_[id].data);
    hold(id, device_.allocate(bytes_of(tape[id].shape, batch_, tape[id].dtype)));
    return values_[id].storage.data();
  }
  void hold(int id, Storage storage) { values_[id].hold(std::move(storage)); }

  void find_input(const Tape& tape, int id) {
    const Bindings::Given given = bindings_.of(tape, id);
    if (given.data == nullptr) {
      with_type(tape[id].dtype, [&](auto t) {
        using T = decltype(t);
        const Scalar& scalar = tape.scalars[static_cast<std::size_t>(tape[id].attributes.integer[0])];
        const T number = static_cast<T>(static_cast<Computed<T>>(scalar.at(0)));
        device_.copy(allocate(tape, id), &number, sizeof(T));
      });
    } else if (given.on_device) {
      values_[id].storage = given.owner;
      values_[id].data = given.data;
    } else {
      read_host(tape, id, given.data);
    }
  }
  /// Gives a node what lies in the host's memory: in place, where the device reads that.
  void read_host(const Tape& tape, int id, const void* data) {
    if (device_.shares_host_memory()) values_[id].data = data;
    else device_.copy(allocate(tape, id), data, bytes_of(tape[id].shape, batch_, tape[id].dtype));
  }
  const void* fetched(const void* data, std::int64_t bytes) {
    const HeapBlock& copy = fetched_.emplace_back(bytes);
    device_.read(copy.data(), data, bytes);
    return copy.data();
  }

  /// Gives a node its operand's memory.
  void share(const Tape& tape, int id) {
    dense(tape, tape[id].in[0]);
    values_[id].share(values_[tape[id].in[0]]);
  }
  /// A sum over a batch that is a window of its own.
  void sum_all(const Tape& tape, int id) {
    Shadow whole;
    reserve(tape, id, whole, 0, true);
    add_cut(tape, id, whole, 0, true);
    close_cut(tape, id, whole);
    hold(id, whole.total());
  }

  void count_uses(const Node& node, int times) {
    for (int k = 0; k < node.op->arity; ++k) values_[node.in[k]].uses += times;
  }

  Device device_;
  std::int64_t batch_ = 1;
  bool deferring_ = false, noting_ = false, sweeping_ = false;
  std::int64_t sweep_elements_ = 1 << 15;  ///< of a value that are computed at a time: what caches hold several of
  Randomness random_;
  ValueTable values_;
  WindowValues window_;
  Bindings bindings_;
  std::vector<int> needed_;  ///< by what is being settled, in order
  std::vector<const void*> uses_[2];  ///< where they lie that the operands of a sum are made of
  std::vector<std::pair<int, const void*>> outside_;  ///< what a sweep reads a few samples of
  std::vector<int> swept_views_;  ///< what it put into memory for these alone
  std::vector<HeapBlock> fetched_;                    ///< what the host read, where it cannot read the device's memory
};

}  // namespace gradual::eager

#include <gradual/eager/sweep.hpp>
