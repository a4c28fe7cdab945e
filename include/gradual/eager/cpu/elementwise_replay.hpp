#pragma once
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/cpu/kernels.hpp>
#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// Runs a finished tape again and again whose rows are made of its inputs element by element: all ops of a chunk while it
/// lies in the nearest cache. What is made of numbers alone is computed once for each run, which allocates nothing.
class ElementwiseReplay {
 public:
  /// Whether a tape is of this kind: rows of `elements` floats, and numbers.
  static bool suits(const Tape& tape, std::int64_t elements) {
    for (const Node& node : tape.nodes) {
      const Kind kind = node.op->kind;
      const bool alone = kind == Kind::input || kind == Kind::constant || kind == Kind::map ||
                         (kind == Kind::broadcast && is_number(tape[node.in[0]]));
      if (!alone || node.dtype != DType::f32 || !(is_number(node) || node.shape.unit() == elements)) return false;
    }
    return std::none_of(tape.roots.begin(), tape.roots.end(), [&](const Root& root) { return is_number(tape[root.node]); });
  }

  /// Errors: MemoryError.
  template <class Ops>
  ElementwiseReplay(const Device& device, Tape tape, Ops)
      : tape_(std::move(tape)), numbers_(tape_.nodes.size()), address_(tape_.nodes.size()) {
    constexpr LoopTable<Ops> loops;
    std::vector<int> row(tape_.nodes.size(), -1);
    const int rows = share_rows(row);
    memory_ = device.allocate(rows * chunk * std::int64_t{sizeof(float)});
    for (int id = 0; id < tape_.size(); ++id) {
      const Node& node = tape_[id];
      if (is_number(node)) address_[at(id)] = &numbers_[at(id)];
      else if (row[at(id)] >= 0) address_[at(id)] = memory_.as<float>() + row[at(id)] * chunk;
      Step step{id, node.op, loops.of(*node.op).map_f32, &address_[at(id)], {}};
      for (int k = 0; k < 3; ++k) step.in[k] = node.op->arity == 0 ? nullptr : &address_[at(node.in[k < node.op->arity ? k : 0])];
      if (is_number(node)) number_steps_.push_back(step);
      else if (node.op->kind == Kind::map) row_steps_.push_back(step);
      else if (node.op->kind == Kind::input) given_.push_back({id, node.attributes.integer[0], row[at(id)] >= 0});
      else {
        spreads_.push_back({id, 0});
        std::fill_n(address_[at(id)], chunk, 0.0f);
      }
    }
    for (const Root& root : tape_.roots) {
      if (row[at(root.node)] < 0) given_.push_back({root.node, root.index, false});
      else copied_.push_back(root);
    }
  }
  ElementwiseReplay(const ElementwiseReplay&) = delete;
  ElementwiseReplay& operator=(const ElementwiseReplay&) = delete;

  const Tape& tape() const { return tape_; }

  /// `scalars` by slot; `array(i)`: where input i, or the result of the root of index i, lies, of `elements` elements.
  template <class Array>
  void run(const float* scalars, std::int64_t elements, Array array) {
    for (const Step& step : number_steps_) {
      const Node& node = tape_[step.node];
      if (node.op->kind == Kind::input) numbers_[at(step.node)] = scalars[node.attributes.integer[0]];
      else if (node.op->kind == Kind::constant) numbers_[at(step.node)] = constant(node);
      else compute(step, 1);
    }
    for (Spread& spread : spreads_) {
      const Node& node = tape_[spread.node];
      const float number = node.op->arity == 0 ? constant(node) : numbers_[at(node.in[0])];
      if (std::exchange(spread.bits, std::bit_cast<std::uint32_t>(number)) == std::bit_cast<std::uint32_t>(number)) continue;
      std::fill_n(address_[at(spread.node)], chunk, number);
    }
    for (std::int64_t first = 0; first < elements; first += chunk) {
      const std::int64_t count = std::min(chunk, elements - first);
      for (const Given& given : given_) {
        float* const values = array(given.index) + first;
        if (given.copied) copy(address_[at(given.node)], values, count);
        else address_[at(given.node)] = values;
      }
      for (const Step& step : row_steps_) compute(step, count);
      for (const Root& root : copied_) copy(array(root.index) + first, address_[at(root.node)], count);
    }
  }

 private:
  static constexpr std::int64_t chunk = 512;

  struct Step {
    int node;
    const OpInfo* op;
    MapLoop<float> loop;  ///< null: the op is in no list
    float* const* out;
    float* const* in[3];  ///< those that the op does not have repeat the first
  };

  /// A row that holds one number everywhere.
  struct Spread {
    int node;
    std::uint32_t bits;  ///< of the number that it holds now
  };
  /// An input, or a result that is written where it belongs.
  struct Given {
    int node;
    std::int64_t index;
    bool copied;  ///< an input that is also a result, and that another one may replace before
  };

  static std::size_t at(int id) { return static_cast<std::size_t>(id); }
  static bool is_number(const Node& node) { return node.shape.rank == 0; }
  static float constant(const Node& node) { return static_cast<float>(node.attributes.number[0]); }
  static void copy(float* to, const float* from, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  }
  bool is_root(int id) const {
    return std::any_of(tape_.roots.begin(), tape_.roots.end(), [&](const Root& root) { return root.node == id; });
  }

  /// Whether a root's op may write over the array that its result replaces: nothing reads that afterwards.
  bool in_place(const Root& root) const {
    int same = 0;
    for (const Root& other : tape_.roots) same += other.node == root.node;
    for (int id = root.node + 1; id < tape_.size(); ++id)
      for (int k = 0; k < tape_[id].op->arity; ++k) {
        const Node& read = tape_[tape_[id].in[k]];
        if (read.op->kind == Kind::input && !is_number(read) && read.attributes.integer[0] == root.index) return false;
      }
    return same == 1 && tape_[root.node].op->kind == Kind::map;
  }

  /// Which of the rows in memory a chunk of a node lies in: none for numbers, and for inputs and results in place; those
  /// that ops compute give theirs away after their last use. Returns how many rows there are.
  int share_rows(std::vector<int>& row) const {
    std::vector<int> last_use(row.size(), -1), free;
    for (int id = 0; id < tape_.size(); ++id)
      for (int k = 0; k < tape_[id].op->arity; ++k) last_use[at(tape_[id].in[k])] = id;
    int rows = 0;
    for (int id = 0; id < tape_.size(); ++id) {
      const Node& node = tape_[id];
      if (is_number(node) || (node.op->kind == Kind::input && !is_root(id))) continue;
      const bool computed = node.op->kind == Kind::map;  // others are filled before the first op
      if (std::any_of(tape_.roots.begin(), tape_.roots.end(), [&](const Root& r) { return r.node == id && in_place(r); })) {
        // lies in the array that it replaces
      } else if (computed && !free.empty()) {
        row[at(id)] = free.back();
        free.pop_back();
      } else {
        row[at(id)] = rows++;
      }
      for (int k = 0; k < node.op->arity; ++k) {
        const int in = node.in[k];
        if (last_use[at(in)] != id || tape_[in].op->kind != Kind::map || is_number(tape_[in]) || is_root(in)) continue;
        free.push_back(row[at(in)]);
        last_use[at(in)] = -1;  // another operand may be the same
      }
    }
    return rows;
  }

  static void compute(const Step& step, std::int64_t count) {
    run_map(*step.op, step.loop, *step.out, *step.in[0], *step.in[1], *step.in[2], count);
  }

  Tape tape_;
  Storage memory_;
  std::vector<float> numbers_;    ///< by node
  std::vector<float*> address_;   ///< by node: its number or its chunk
  std::vector<Step> number_steps_, row_steps_;
  std::vector<Spread> spreads_;
  std::vector<Given> given_;
  std::vector<Root> copied_;  ///< results that lie in rows
};

}  // namespace gradual::eager
