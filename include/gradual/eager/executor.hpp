#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <gradual/autodiff/cut_positions.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/tensor.hpp>
#include <gradual/eager/with_type.hpp>

namespace gradual::eager {

/// A sum over the samples of a window, kept while its parts come and go.
struct Shadow {
  Storage total;              ///< of closed blocks
  Storage open;               ///< the chains of the block that is not finished; anything where there is none
  std::int64_t open_end = 0;  ///< the position where that block ends; 0: there is none
  bool fresh = true;          ///< nothing has been added to `total`, which may hold anything
};

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
    if (shadow.open_end != 0 && first >= shadow.open_end) close_cut(tape, cut, shadow);
    if (shadow.open_end == 0 && block_begin(first, p) != first)  // the block began with other sums
      device_.clear(shadow.open.data(), bytes_of(tape[cut].shape, 1, tape[cut].dtype));
    add_samples(tape, cut, shadow, begin, last);
    shadow.fresh = false;
    shadow.open_end = last || block_begin(end, p) == end ? 0 : block_end(end, p);
  }
  /// Adds the chains of an unfinished block to the sum, which is then the window's.
  void close_cut(const Tape& tape, int cut, Shadow& shadow) {
    add_open_block(tape, cut, shadow);
    shadow.fresh = false;
    shadow.open_end = 0;
  }
  /// Whether no value of a cut's sum, or of its open block, is infinite or NaN.
  bool cut_is_finite(const Tape& tape, int cut, const Shadow& shadow) const {
    return with_real(tape[cut], [&](auto t) {
      using T = decltype(t);
      const std::int64_t count = tape[cut].shape.unit();
      return (shadow.fresh || device_.all_finite(shadow.total.as<const T>(), count)) &&
             (shadow.open_end == 0 || device_.all_finite(shadow.open.as<const T>(), count));
    });
  }

  const Device& device() const { return device_; }
  std::int64_t batch() const { return batch_; }

  /// Forgets all values; what is recorded next has `batch` samples. Where `deferring`, sums over the batch wait for
  /// `add_cut`, and what depends on them for `run_deferred`; the rest is noted, for
  /// sweeps that know all uses of a value.
  void reset(std::int64_t batch, bool deferring = false) {
    values_.clear();
    inputs_.clear();
    unbatched_.clear();
    fetched_.clear();
    batch_ = batch;
    random_ = {};
    deferring_ = deferring;
    scalars_ = weight_ = nullptr;
  }

  /// While one lives, what is recorded is only noted, to be run where it is needed: backward records adjoints that
  /// nobody wants.
  class Noting {
   public:
    explicit Noting(Executor& executor) : executor_(&executor) { executor.noting_ = true; }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;
    ~Noting() { executor_->noting_ = false; }

   private:
    Executor* executor_;
  };
  /// Runs what was noted and is needed for the node, in order. Errors: MemoryError.
  void settle(const Tape& tape, int id);

  /// The next sample input, in order: the host's memory, which must outlive the values, or the device's that `owner` holds.
  void bind_input(const void* data, Storage owner = {}) {
    const bool on_device = !owner.empty();
    inputs_.push_back({std::move(owner), data == nullptr ? this : data, on_device});  // no samples: any address will do
  }
  /// Another place of an input, on the device.
  void rebind_input(std::size_t which, const void* data) { inputs_[which].data = data, inputs_[which].on_device = true; }
  void bind_parameters(const float* values, const std::vector<std::int64_t>& offsets) {
    parameters_ = values;
    offsets_ = &offsets;
  }
  /// What random numbers depend on; without it masks are 1.
  void bind_random(const Randomness& random) { random_ = random; }
  /// The numbers behind scalars, by slot, in the host's memory as the weight is; without them a scalar has its value at step 0.
  void bind_scalars(const float* scalars) { scalars_ = scalars; }
  /// The weight of the window, which is the one scalar that backward reads.
  void bind_weight(const float* weight) { weight_ = weight; }

  void recorded(Tape& tape, int id) override {
    try {
      values_.resize(index(id) + 1);
      count_uses(tape[id], 1);
      if (!tape[id].shape.batched()) {
        values_[index(id)].ordinal = static_cast<int>(unbatched_.size());
        unbatched_.push_back(id);
      }
      if (wait(tape, id)) return;
      const Kind kind = tape[id].op->kind;
      if (noting_ || (deferring_ && kind != Kind::input && kind != Kind::gather)) values_[index(id)].noted = true;
      else run(tape, id);
    } catch (...) {
      if (values_.size() > index(id)) count_uses(tape[id], -1);
      values_.resize(index(id));
      if (!unbatched_.empty() && unbatched_.back() == id) unbatched_.pop_back();
      tape.nodes.pop_back();
      throw;
    }
  }

  /// The elements of a value, row-major. Errors: MemoryError; ShapeError for what waits for the window's end; TapeError
  /// for what was given back.
  const void* dense(const Tape& tape, int id) {
    Value& value = values_[index(id)];
    if (value.deferred) throw ShapeError("the gradient of a batch is read inside a window: it is known only at its end");
    if (value.noted) settle(tape, id);
    if (value.data == nullptr) {
      if (!is_view(tape[id].op->kind))
        throw TapeError("value " + std::to_string(id) + " was read after its part had been added to the window");
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
    if (Storage& owner = values_[index(id)].storage; !owner.empty()) return {device_, node.dtype, shape, owner};
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
    const Given& given = inputs_[index(static_cast<int>(node.attributes.integer[0]))];
    const bool readable = device_.shares_host_memory() || !given.on_device;
    return readable ? given.data : fetched(given.data, bytes_of(node.shape, 1, node.dtype));
  }

  /// Whether a value lies in memory: views need not.
  bool in_memory(int id) const { return values_[index(id)].data != nullptr; }
  /// Where an input was bound to.
  const void* input(int which) const { return inputs_[index(which)].data; }
  /// Values that do not have one element per sample, in the order of recording, and the place of one among them.
  const std::vector<int>& unbatched() const { return unbatched_; }
  int ordinal(int id) const { return values_[index(id)].ordinal; }
  /// Positions of one sample in the sum of a cut.
  static std::int64_t positions(const Tape& tape, const Node& cut) { return cut_positions(tape.nodes.data(), cut); }

  /// Computes what a cut adds up. Memory for its sum, for its open block where samples [begin, begin + batch) begin inside
  /// one or leave one to those after them, and to add them. Errors: MemoryError.
  virtual void reserve(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) {
    const std::int64_t bytes = bytes_of(tape[cut].shape, 1, tape[cut].dtype), p = positions(tape, tape[cut]);
    const auto inside = [&](std::int64_t sample) { return p > 0 && block_begin(sample * p, p) != sample * p; };
    if (shadow.total.empty()) shadow.total = device_.allocate(bytes, Category::gradients);
    if (shadow.open.empty() && (inside(begin) || (!last && inside(begin + batch_))))
      shadow.open = device_.allocate(bytes, Category::gradients);
    for (int k = 0; k < tape[cut].op->arity; ++k) addresses_of_uses(tape, cut, k);
  }

  /// Where the values lie that operand k of a cut is made of, until it is asked again. Errors: MemoryError.
  std::span<const void* const> addresses_of_uses(const Tape& tape, int cut, int k) {
    const int operand = tape[cut].in[k], count = count_of_uses(tape.nodes.data(), operand);
    for (int u = 0; u < count; ++u) dense(tape, use_of(tape.nodes.data(), operand, u));
    uses_[k].clear();
    for (int u = 0; u < count; ++u) uses_[k].push_back(values_[index(use_of(tape.nodes.data(), operand, u))].data);
    return uses_[k];
  }

  /// Gives back what waits for the window's end and no root wants: sums that backward has joined.
  void forget_unwanted(const Tape& tape) {
    for (const int id : unbatched_) values_[index(id)].needed = false;
    for (const Root& root : tape.roots) values_[index(root.node)].needed = !tape[root.node].shape.batched();
    for (auto id = unbatched_.rbegin(); id != unbatched_.rend(); ++id)
      for (int k = 0; k < tape[*id].op->arity && values_[index(*id)].needed; ++k)
        values_[index(tape[*id].in[k])].needed = !tape[tape[*id].in[k]].shape.batched();
    std::erase_if(unbatched_, [&](int id) { return values_[index(id)].deferred && !values_[index(id)].needed; });
    int ordinal = 0;
    for (const int id : unbatched_) {
      values_[index(id)].needed = false;
      values_[index(id)].ordinal = ordinal++;
    }
  }

  /// Gives a cut its sum over the window.
  void set_cut(int cut, const Storage& total) {
    hold(cut, total);
    values_[index(cut)].deferred = false;
  }
  /// Runs what waited for the cuts, all of which are set.
  void run_deferred(const Tape& tape) {
    for (int id : unbatched_)
      if (values_[index(id)].deferred) {
        for (int k = 0; k < tape[id].op->arity; ++k) settle(tape, tape[id].in[k]);
        run(tape, id);
        values_[index(id)].deferred = false;
      }
  }

  /// Lets the cuts, and what was run for them, wait again.
  void defer_again(const Tape& tape) {
    for (int id : unbatched_) {
      bool waits = is_cut(tape[id].op->kind);
      for (int k = 0; k < tape[id].op->arity; ++k) waits = waits || values_[index(tape[id].in[k])].deferred;
      if (waits) release(id);
      values_[index(id)].deferred = waits;
    }
  }

  /// Makes room for the values of a finished tape of `count` nodes, to be run one by one.
  void expect(int count) { values_.resize(index(count)); }
  /// Drops the memory of a value.
  void release(int id) {
    values_[index(id)].storage = {};
    values_[index(id)].data = nullptr;
    values_[index(id)].noted = false;
  }
  /// Drops the values that have one element per sample.
  void release_batched(const Tape& tape) {
    for (int i = 0; i < static_cast<int>(values_.size()); ++i)
      if (tape[i].shape.batched()) release(i);
  }

 protected:
  explicit Executor(const Device& device) : device_(device) {}

  struct Value {
    Storage storage;             ///< empty: the caller's memory, or not in memory
    const void* data = nullptr;  ///< null: not in memory
    bool deferred = false;  ///< waits for the end of the window
    bool noted = false;     ///< not run yet, perhaps never; or not kept
    bool needed = false;    ///< by what is being settled
    bool kept = false;      ///< after its sweep
    int ordinal = -1;       ///< among the unbatched values
    int uses = 0;           ///< as an operand, so far
    int outer_uses = 0;     ///< those of them that its sweep does not make
  };

  /// An input.
  struct Given {
    Storage owner;
    const void* data;
    bool on_device;  ///< else it lies in the host's memory
  };

  /// Computes a node that is neither an input, a view nor a sum over the batch, and has memory of its own.
  virtual void compute(const Tape& tape, int id) = 0;
  /// Adds the samples of a part to the sum of a cut; and an unfinished block, where there is one, to what may be fresh.
  virtual void add_samples(const Tape& tape, int cut, const Shadow& shadow, std::int64_t begin, bool last) = 0;
  virtual void add_open_block(const Tape& tape, int cut, const Shadow& shadow) = 0;
  /// Puts a constant or another view into memory.
  virtual void materialise(const Tape& tape, int id) = 0;

  class Sweep;

  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  /// New memory for a node's elements, or that of the sweep.
  void* allocate(const Tape& tape, int id) {
    if (sweeping_) return const_cast<void*>(values_[index(id)].data);
    hold(id, device_.allocate(bytes_of(tape[id].shape, batch_, tape[id].dtype)));
    return values_[index(id)].storage.data();
  }
  void hold(int id, Storage storage) {
    Value& value = values_[index(id)];
    value.storage = std::move(storage);
    value.data = value.storage.data();
  }

  void find_input(const Tape& tape, int id) {
    const Node& node = tape[id];
    const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
    Value& value = values_[index(id)];
    if (node.attributes.integer[1] == Input::sample) {
      if (which >= inputs_.size()) throw TapeError("an input of an eager tape is given with its values");
      const Given& given = inputs_[which];
      if (!given.on_device) return read_host(tape, id, given.data);
      value.storage = given.owner;
      value.data = given.data;
    } else if (node.attributes.integer[1] == Input::parameter) {
      if (parameters_ == nullptr) throw TapeError("a parameter is read on a tape that was given no parameters");
      value.data = parameters_ + (*offsets_)[which];
    } else if (scalars_ != nullptr) {
      read_host(tape, id, scalars_ + which);
    } else if (weight_ != nullptr && id >= tape.first_adjoint) {
      read_host(tape, id, weight_);
    } else {
      with_type(node.dtype, [&](auto t) {
        using T = decltype(t);
        const T number = static_cast<T>(static_cast<Computed<T>>(tape.scalars[which].at(0)));
        device_.copy(allocate(tape, id), &number, sizeof(T));
      });
    }
  }
  /// Gives a node what lies in the host's memory: in place, where the device reads that.
  void read_host(const Tape& tape, int id, const void* data) {
    if (device_.shares_host_memory()) values_[index(id)].data = data;
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
    const Value& source = values_[index(tape[id].in[0])];
    values_[index(id)].storage = source.storage;
    values_[index(id)].data = source.data;
  }
  /// A sum over a batch that is a window of its own.
  void sum_all(const Tape& tape, int id) {
    Shadow whole;
    reserve(tape, id, whole, 0, true);
    add_cut(tape, id, whole, 0, true);
    close_cut(tape, id, whole);
    hold(id, std::move(whole.total));
  }

  void count_uses(const Node& node, int times) {
    for (int k = 0; k < node.op->arity; ++k) values_[index(node.in[k])].uses += times;
  }

  /// Whether a node waits for the end of the window. Errors: ShapeError where a sample's value would depend on it.
  bool wait(const Tape& tape, int id) {
    if (!deferring_) return false;
    const Node& node = tape[id];
    bool waits = is_cut(node.op->kind);
    for (int k = 0; k < node.op->arity; ++k) waits = waits || values_[index(node.in[k])].deferred;
    if (waits && node.shape.batched())
      throw ShapeError(std::string(node.op->name) +
                       ": a sample's value depends on the gradient of the batch: samples would be coupled");
    values_[index(id)].deferred = waits;
    return waits;
  }

  Device device_;
  std::int64_t batch_ = 1;
  bool deferring_ = false, noting_ = false, sweeping_ = false;
  std::int64_t sweep_elements_ = 1 << 15;  ///< of a value that are computed at a time: what caches hold several of
  Randomness random_;
  std::vector<Value> values_;
  std::vector<Given> inputs_;
  std::vector<int> unbatched_;
  std::vector<int> needed_;  ///< by what is being settled, in order
  std::vector<const void*> uses_[2];  ///< where they lie that the operands of a sum are made of
  std::vector<std::pair<int, const void*>> outside_;  ///< what a sweep reads a few samples of
  std::vector<HeapBlock> fetched_;                    ///< what the host read, where it cannot read the device's memory
  const float* parameters_ = nullptr;
  const std::vector<std::int64_t>* offsets_ = nullptr;
  const float *scalars_ = nullptr, *weight_ = nullptr;
};

}  // namespace gradual::eager

#include <gradual/eager/sweep.hpp>
