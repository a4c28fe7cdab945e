#pragma once
#include <span>

#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/plan.hpp>

namespace gradual {

/// Returns a span over a table of `count` values.
template <class T>
constexpr std::span<const T> table_of(const T* values, int count) {
  return std::span<const T>(values, static_cast<std::size_t>(count));
}

/// Returns the node of a root, or −1 where there is no such root.
constexpr int find_root(std::span<const Root> roots, Role role, int index) {
  for (const Root& root : roots)
    if (root.role == role && root.index == index) return root.node;
  return -1;
}
constexpr int count_roots(std::span<const Root> roots, Role role) {
  int count = 0;
  for (const Root& root : roots) count += root.role == role;
  return count;
}

/// The parts of a finished program, without its type: code that reads only these is compiled once, not for each program.
struct ProgramTables {
  std::span<const Node> nodes;
  std::span<const ParameterInfo> parameters;
  std::span<const InputInfo> inputs;
  std::span<const Root> roots;
  std::span<const int> input_nodes;  ///< as `Program::input_nodes`
  int first_adjoint = 0;
  const int* storage = nullptr;      ///< this and the next three: as in `Schedule`
  const Phase* phase = nullptr;
  const int* group_of = nullptr;
  int group_count = 0;
  PlanTables plan;
  std::int64_t (*transient_bytes)(std::int64_t batch) = nullptr;

  constexpr int size() const { return static_cast<int>(nodes.size()); }
  constexpr const Node& node(int id) const { return nodes[static_cast<std::size_t>(id)]; }
  constexpr std::int64_t unit(int id) const { return node(id).shape.unit(); }
  constexpr int root(Role role, int index = 0) const { return find_root(roots, role, index); }
  /// Returns the number of elements of a root per sample; 0 where there is none, because the model cannot be compiled.
  constexpr std::int64_t root_unit(Role role) const {
    const int id = root(role);
    return id < 0 ? 0 : unit(id);
  }
  constexpr int count_of(Role role) const { return count_roots(roots, role); }
  /// Whether a node is computed once per window from parameters alone, and kept.
  constexpr bool is_derived(int id) const {
    return storage[id] == id && phase[id] == Phase::prologue && node(id).op->kind != Kind::input;
  }
  /// Writes the addresses of a batch's transient values, which lie from `base` on; returns their end. `offsets`: room for one
  /// number per node, and one more.
  std::byte* place_transient(std::int64_t batch, std::byte* base, std::int64_t* offsets, void** address) const {
    const std::int64_t bytes = plan.offsets(batch, offsets);
    for (int i = 0; i < size(); ++i)
      if (const int life = plan.lifetime_of[i]; life >= 0) address[i] = base + offsets[life];
    return base + bytes;
  }
  /// Returns the bytes of a node's value for one sample, or in all if it has no axis of samples.
  constexpr std::int64_t node_bytes(int id) const { return aligned(unit(id) * size_of(node(id).dtype)); }
};

/// Returns the largest batch of a program whose bytes can be counted, whatever the layout.
constexpr std::int64_t countable_batch(const ProgramTables& program) {
  std::int64_t sample_bytes = 1;
  const auto add = [&](const Shape& shape, DType dtype) {
    sample_bytes += shape.batched() ? shape.unit() * size_of(dtype) : 0;
  };
  for (const InputInfo& input : program.inputs) add(input.shape, input.dtype);
  for (int i = 0; i < program.size(); ++i)
    if (program.plan.lifetime_of[i] >= 0) add(program.node(i).shape, program.node(i).dtype);
  return (std::int64_t{1} << 61) / sample_bytes;
}

/// Returns the batch. Errors: OptionError if it is not positive, ShapeError if its bytes cannot be counted.
constexpr std::int64_t check_countable(std::int64_t countable, std::int64_t batch) {
  if (batch <= 0) throw OptionError("a batch of " + std::to_string(batch) + ": it needs at least one sample");
  if (batch > countable)
    throw ShapeError("a batch of " + std::to_string(batch) + " samples is too large; the largest possible is of " +
                     std::to_string(countable));
  return batch;
}

}  // namespace gradual
