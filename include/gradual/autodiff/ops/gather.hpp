#pragma once
#include <gradual/autodiff/ops/labels.hpp>

namespace gradual {

/// Rows of a table, one for each index.
struct Gather {
  static constexpr const char* name = "gather";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::gather;
  static constexpr Adjoints<2> vjp(Var g, Var table, Var index, Var y);
  template <class Check>
  static void sweep(Check& check) {
    check.run("gather", [](auto in) { return square(gather(in[0], in[1])); }, {{4, 3}, {Shape::per_sample({2}), 4}});
    check.run("gather of nothing", [](auto in) { return square(gather(in[0], in[1])); }, {{4, 3}, {Shape::per_sample({0}), 4}});
  }
};

/// The adjoint of a table: each row is the sum of what its places got: where samples meet, only in backward.
struct BatchScatter {
  using AdjointOf = Gather;
  static constexpr const char* name = "batch_scatter";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::batch_scatter;
  static constexpr Adjoints<2> vjp(Var h, Var g, Var index, Var y);
};

namespace detail {
constexpr Var gather(Var table, Var index) {
  Shape rows = index.shape();
  rows.extent[rows.rank++] = table.shape().extent[1];
  return table.tape->record(op_info<Gather>, {table, index}, rows, table.dtype());
}
}  // namespace detail

/// table: [rows, width], index: int32 [batch, ...], an input or a view of one; gives [batch, ..., width].
/// Errors: other shapes and types, indices that are computed. An index outside the rows is found when it is staged.
constexpr Var gather(Var table, Var index) {
  if (!detail::given(Gather::name, {table, index})) return {};
  Tape& tape = *table.tape;
  if (table.shape().rank != 2 || table.shape().batched() || index.shape().batch_axis != 0 || index.shape().rank >= max_rank)
    return tape.fail(Message() << "gather: needs a table [rows, width] and indices [batch, ...], got " << table.shape()
                               << " and " << index.shape()
                               << (table.shape().batched()
                                       ? "; pick(scores, label) or matmul(one_hot(index, rows), table) take each sample's own"
                                       : ""),
                     {table});
  if (index.dtype() != DType::i32 || table.dtype() == DType::i32)
    return tape.fail<TypeError>(Message() << "gather: needs a table of numbers and indices that are int32, got "
                                          << name_of(table.dtype()) << " and " << name_of(index.dtype()), {table});
  Var source = index;
  detail::find_source(source);
  if (source.node().op->kind != Kind::input)
    return tape.fail(Message() << "gather: indices are computed by " << source.node().op->name
                               << ": only an input's are checked before they are used"
                               << (source.node().op->kind == Kind::iota ? "; all rows are the table itself" : ""), {table});
  detail::declare_labels(index, table.shape().extent[0], LabelRange::none, LabelRange::Of::table_row);
  return detail::gather(table, index);
}

constexpr Adjoints<2> Gather::vjp(Var g, Var table, Var index, Var) {
  return {{g.tape->record(op_info<BatchScatter>, {g, index}, table.shape(), computed_in(g.dtype())), {}}};
}
constexpr Adjoints<2> BatchScatter::vjp(Var h, Var, Var index, Var) { return {{detail::gather(h, index), {}}}; }

}  // namespace gradual
