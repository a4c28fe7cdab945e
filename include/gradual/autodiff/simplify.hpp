#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>

namespace gradual {

namespace detail {

constexpr bool same_computation(const Node& a, const Node& b) {
  return same_op(a, b) && a.in[0] == b.in[0] && a.in[1] == b.in[1] && a.in[2] == b.in[2] && a.shape == b.shape;
}

constexpr bool is_constant(const Node& node, double value) {
  return is<Constant>(node) && node.attributes.number == value;
}

/// Returns the node that `node` equals bit for bit, whatever its operands hold, or −1.
constexpr int identity_of(const Tape& tape, const Node& node) {
  if (is<Multiply>(node)) {
    if (is_constant(tape[node.in[1]], 1)) return node.in[0];
    if (is_constant(tape[node.in[0]], 1)) return node.in[1];
  }
  if (is<Divide>(node) && is_constant(tape[node.in[1]], 1)) return node.in[0];
  if (is<StopGradient>(node)) return node.in[0];
  if (is<Convert>(node) && is<Convert>(tape[node.in[0]])) {
    const Node& between = tape[node.in[0]];  // widened and narrowed again
    if (tape[between.in[0]].dtype == node.dtype && size_of(between.dtype) > size_of(node.dtype)) return between.in[0];
  }
  if ((node.op->kind == Kind::reshape || is<Broadcast>(node)) && tape[node.in[0]].shape == node.shape)
    return node.in[0];
  return -1;
}

/// Turns a view of a constant into a constant of its shape, which needs no memory.
constexpr void replace_view_of_constant(const Tape& tape, Node& node) {
  if (!is_view(node)) return;
  if (const Node& number = tape[node.in[0]]; is<Constant>(number)) {
    const Shape shape = node.shape;
    node = number;
    node.shape = shape;
  }
}

/// Turns padding around nothing into a constant: such a view has no place to read.
constexpr void replace_view_of_nothing(const Tape& tape, Node& node) {
  if (!is<Pad>(node) || tape[node.in[0]].shape.extent[node.attributes.integer[0]] > 0) return;
  node.op = &op_info<Constant>;
  node.in[0] = -1;
  node.attributes.integer[0] = node.attributes.integer[1] = 0;
}

/// Turns a transposed broadcast into a broadcast along other axes if the operand's axes keep their order: loops read that from
/// the operand's own memory, while the operand of a view of a view must be stored.
constexpr void repeat_along_others(Tape& tape, Node& node) {
  if (!is<Transpose>(node) || !is<Broadcast>(tape[node.in[0]])) return;
  const Node& repeated = tape[node.in[0]];
  const Shape from = tape[repeated.in[0]].shape;
  Shape shape = node.shape;
  shape.batch_axis = -1;
  for (int i = 0, next = 0; i < shape.rank; ++i) {
    const int axis = Transpose::source_axis(node.attributes, i) - (shape.rank - from.rank);
    const bool samples = axis >= 0 && axis == from.batch_axis;
    shape.extent[i] = axis < 0 ? 1 : from.extent[axis];
    if (shape.extent[i] == 1 && !samples) continue;
    if (axis < next) return;
    next = axis;
    if (samples) shape.batch_axis = i;
  }
  Node values = repeated;
  values.op = &op_info<Reshape>;
  values.shape = shape;
  node.op = &op_info<Broadcast>;
  node.in[0] = tape.size();
  node.attributes = {};
  tape.nodes.push_back(values);
}

/// Whether a value is made of constants, indices and broadcast integers alone, which take less memory than the value: a causal
/// mask, or a mask of labelled classes.
constexpr bool is_of_indices(const Tape& tape, const Node& node) {
  bool all = node.op->kind == Kind::map && node.shape.batched();
  for (int k = 0; k < node.op->arity && all; ++k) {
    const Node& operand = tape[node.in[k]];
    const Kind kind = operand.op->kind;
    all = kind == Kind::constant || kind == Kind::iota || (kind == Kind::broadcast && operand.dtype == DType::i32);
  }
  return all;
}

/// Drops the nodes that no root depends on, of a tape without taps and without nodes of parameters.
constexpr void drop_unwanted(Tape& tape) {
  const std::vector<char> all_wanted = wanted_nodes(tape);
  const char* const wanted = all_wanted.data();  // plain pointers, as in `wanted_nodes`
  const int count = tape.size(), first_adjoint = tape.first_adjoint;
  std::vector<int> places(static_cast<std::size_t>(count), -1);
  int* const moved = places.data();
  Node* const nodes = tape.nodes.data();
  int next = 0;
  for (int i = 0; i < count; ++i) {
    if (i == first_adjoint) tape.first_adjoint = next;
    if (!wanted[i]) continue;
    Node node = nodes[i];
    for (int k = 0; k < node.op->arity; ++k) node.in[k] = moved[node.in[k]];
    moved[i] = next;
    nodes[next++] = node;
  }
  if (first_adjoint == count) tape.first_adjoint = next;
  tape.nodes.resize(static_cast<std::size_t>(next));
  for (Root& root : tape.roots) root.node = moved[root.node];
}

}  // namespace detail

/// Removes unused nodes, repeated computations, identities that keep every bit (x·1, x/1), transposes of broadcasts and
/// views of constants or of nothing; keeps no mask of indices for backward, whose loops compute it again.
/// Roots are kept; the order stays topological; near linear.
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr Tape simplify(const Tape& from) {
  const int count = from.size();
  std::vector<int> replaced(static_cast<std::size_t>(count), -1), copied(static_cast<std::size_t>(count), -1);
  int* const to = replaced.data();   // plain pointers: compilers take long to evaluate the functions of std::vector
  int* const again = copied.data();  // by mask of indices: its copy for backward, or −1
  const Node* const nodes = from.nodes.data();

  // Finds equal computations by hashing nodes.
  int slots = 64;
  while (slots < 2 * count) slots *= 2;
  std::vector<int> hashed(static_cast<std::size_t>(slots), -1);
  int* const table = hashed.data();
  Tape result;
  result.nodes.reserve(static_cast<std::size_t>(count));
  int first_adjoint = -1;
  for (int i = 0; i < count; ++i) {
    if (i == from.first_adjoint) first_adjoint = result.size();
    Node node = nodes[i];
    for (int k = 0; k < node.op->arity; ++k) {
      int& own = again[node.in[k]];
      const int in = to[node.in[k]];
      if (own < 0 && in < first_adjoint && !stands_alone(node.op->kind) && detail::is_of_indices(result, result[in])) {
        own = result.size();
        result.nodes.push_back(Node(result[in]));
      }
      node.in[k] = own < 0 ? in : own;
    }
    detail::replace_view_of_constant(result, node);
    detail::replace_view_of_nothing(result, node);
    detail::repeat_along_others(result, node);
    unsigned hash = static_cast<unsigned>(node.op->id);
    for (const std::int64_t number : node.attributes.integer) hash = hash * 2654435761u + static_cast<unsigned>(number);
    const bool reshapes = is<Reshape>(node);
    for (int k = 0; k < node.op->arity; ++k) {
      if (reshapes && result[node.in[k]].op->kind == Kind::reshape) node.in[k] = result[node.in[k]].in[0];
      hash = hash * 2654435761u + static_cast<unsigned>(node.in[k]) + 1u;
    }
    int same = detail::identity_of(result, node);
    hash ^= hash >> 15;
    for (unsigned slot = hash & static_cast<unsigned>(slots - 1); same < 0;
         slot = (slot + 1) & static_cast<unsigned>(slots - 1)) {
      int candidate = table[slot];
      if (candidate < 0) {
        table[slot] = result.size();
        break;
      }
      if (detail::same_computation(result[candidate], node)) same = candidate;
    }
    if (same < 0) {
      same = result.size();
      result.nodes.push_back(node);
    }
    to[i] = same;
  }
  result.first_adjoint = first_adjoint < 0 ? result.size() : first_adjoint;
  for (const Root& root : from.roots) result.roots.push_back({root.role, root.index, to[root.node]});
  result.parameters = from.parameters;
  result.inputs = from.inputs;
  result.label_ranges = from.label_ranges;
  result.scalars = from.scalars;
  detail::drop_unwanted(result);
  return result;
}

}  // namespace gradual
