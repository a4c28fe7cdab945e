#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// For each sample, the rows of the first operand, then those of the second, which may be another `uses`. Only sums over the
/// batch read it, row by row from where the rows lie: several uses of a parameter thus become one sum in canonical order.
struct Uses {
  static constexpr const char* name = "uses";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::uses;
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    const std::int64_t first = a.shape().extent[0], rest = b.shape().extent[0], columns = g.shape().extent[1];
    const Var rows = reshape(g, Shape::per_sample({first + rest, columns}));
    return {{reshape(slice(rows, 1, 0, first), a.shape()), reshape(slice(rows, 1, first, rest), b.shape())}};
  }
  template <class Check>
  static void sweep(Check& check);
};

/// Joins a: [batch·m, columns] and b: [batch·n, columns] to [batch·(m + n), columns]. Recorded by backward alone.
constexpr Var uses(Var a, Var b) {
  Shape shape = a.shape();
  shape.extent[0] += b.shape().extent[0];
  return a.tape->record(op_info<Uses>, {a, b}, shape, a.dtype());
}

template <class Check>
void Uses::sweep(Check& check) {
  Shape pairs{2, 3}, threes{3, 3};
  pairs.batch_axis = threes.batch_axis = 0;
  check.run("uses", [](auto in) { return sin(uses(in[0], square(in[1]))); }, {pairs, threes});
}

/// Returns how many values lie behind operand `id` of a sum over the batch; `use_of` returns which they are, in order.
constexpr int count_of_uses(const Node* nodes, int id) {
  int count = 1;
  for (; nodes[id].op->kind == Kind::uses; id = nodes[id].in[1]) ++count;
  return count;
}
constexpr int use_of(const Node* nodes, int id, int which) {
  for (; which > 0; --which) id = nodes[id].in[1];
  return nodes[id].op->kind == Kind::uses ? nodes[id].in[0] : id;
}

}  // namespace gradual
