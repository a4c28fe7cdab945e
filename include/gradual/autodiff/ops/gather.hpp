#pragma once
#include <gradual/autodiff/ops/scatter_add.hpp>

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
    check.run("gather by the highest score", [](auto in) { return gather(in[0], argmax(in[1], 1)) * in[1]; },
              {{3, 3}, Shape::per_sample({3})});
    check.run("gather of nothing", [](auto in) { return square(gather(in[0], in[1])); }, {{4, 3}, {Shape::per_sample({0}), 4}});
  }
};

/// The adjoint of a table: each row is the sum of the adjoints of the places that read it. Sums over samples, only in backward.
struct BatchScatter {
  using AdjointOf = Gather;
  static constexpr const char* name = "batch_scatter";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::batch_scatter;
  static constexpr Adjoints<2> vjp(Var h, Var g, Var index, Var y);
};

/// Reads rows of a table. table: [rows, width] or, each sample's own, [batch, rows, width]; index: int32 [batch, ...], an input
/// or a view of one, or an argmax over no more values than there are rows; gives [batch, ..., width]. With a sample's own
/// table, the index `ignored`, which lies outside its rows, reads zeros. Errors: other shapes and types; indices computed in
/// other ways; an `ignored` among the rows. An index outside the rows is detected when it is staged.
constexpr Var gather(Var table, Var index, std::int64_t ignored = LabelRange::none) {
  if (!detail::given(Gather::name, {table, index})) return {};
  Tape& tape = *table.tape;
  const bool own = table.shape().batch_axis == 0 && table.shape().extent[0] == 1 && index.shape().extent[0] == 1;
  if (table.shape().rank != (own ? 3 : 2) || (table.shape().batched() && !own) || index.shape().batch_axis != 0 ||
      index.shape().rank >= max_rank)
    return tape.fail(Message() << "gather: needs a table [rows, width] or [batch, rows, width] and indices [batch, ...], got "
                               << table.shape() << " and " << index.shape()
                               << (table.shape().batched() ? "; pick(scores, label) takes one number of each row" : ""),
                     {table});
  const std::int64_t rows = table.shape().extent[own ? 1 : 0];
  if (ignored != LabelRange::none && (!own || (ignored >= 0 && ignored < rows)))
    return tape.fail(Message() << "gather: " << ignored << " cannot be ignored: "
                               << (own ? "it is one of the rows of " : "only a table for each sample allows that, not ")
                               << table.shape(), {table});
  if (index.dtype() != DType::i32 || table.dtype() == DType::i32)
    return tape.fail<TypeError>(Message() << "gather: needs a table of floats and int32 indices, got "
                                          << name_of(table.dtype()) << " and " << name_of(index.dtype()), {table});
  if (Var source = index; detail::find_source(source), !own && source.node().op->kind == Kind::iota)
    return tape.fail(detail::computed(Gather::name, ": indices", source, rows) << "; to get all rows, use the table", {table});
  const LabelRange::Of of = own ? LabelRange::Of::place : LabelRange::Of::table_row;
  if (!detail::takes_labels(Gather::name, table, index, rows, ignored, of)) return {};
  return detail::gather(own ? op_info<GatherOwn> : op_info<Gather>, table, index);
}

constexpr Adjoints<2> Gather::vjp(Var g, Var table, Var index, Var) {
  return {{g.tape->record(op_info<BatchScatter>, {g, index}, table.shape(), computed_in(g.dtype())), {}}};
}
constexpr Adjoints<2> BatchScatter::vjp(Var h, Var, Var index, Var) {
  return {{detail::gather(op_info<Gather>, h, index), {}}};
}

}  // namespace gradual
