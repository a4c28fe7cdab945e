#pragma once
#include <gradual/autodiff/ops/labels.hpp>

namespace gradual {

/// Rows of each sample's own table, one for each index; zeros for an ignored index, which lies outside the rows.
struct GatherOwn {
  static constexpr const char* name = "gather_own";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::gather_own;
  static constexpr Adjoints<2> vjp(Var g, Var table, Var index, Var y);
  template <class Check>
  static void sweep(Check& check) {
    const Shape table = Shape::per_sample({4, 3});
    check.run("gather of own rows", [](auto in) { return square(gather(in[0], in[1])); }, {table, {Shape::per_sample({2}), 4}});
    check.run("gather of own rows twice", [](auto in) { return gather(square(in[0]), in[1]) * gather(in[0], in[1]); },
              {table, {Shape::per_sample({2, 3}), 4}});
    check.run("gather of own rows by their highest values", [](auto in) { return square(gather(in[0], argmax(in[0], 1))); },
              {table});
    check.run("gather of no own rows", [](auto in) { return square(gather(in[0], in[1])); },
              {table, {Shape::per_sample({0}), 4}});
    check.run("gather of own rows, some ignored", [](auto in) { return square(gather(in[0], in[1], 2)); },
              {Shape::per_sample({2, 3}), {Shape::per_sample({5}), 3}});
  }
};

/// Sums of each sample's rows in the rows of a table, added one after another; rows at an ignored index are left out.
struct ScatterAdd {
  static constexpr const char* name = "scatter_add";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::scatter_own;
  static constexpr Adjoints<2> vjp(Var g, Var values, Var index, Var y);
  template <class Check>
  static void sweep(Check& check) {
    check.run("scatter_add", [](auto in) { return square(scatter_add(in[0], in[1], 4)); },
              {Shape::per_sample({5, 3}), {Shape::per_sample({5}), 4}});
    check.run("scatter_add of several axes", [](auto in) { return square(scatter_add(in[0], in[1], 4)); },
              {Shape::per_sample({2, 3, 2}), {Shape::per_sample({2, 3}), 4}});
    check.run("scatter_add, some ignored", [](auto in) { return square(scatter_add(in[0], in[1], 2, 2)); },
              {Shape::per_sample({5, 3}), {Shape::per_sample({5}), 3}});
  }
};

namespace detail {
/// Records `op`, a gather from one table or from each sample's own.
constexpr Var gather(const OpInfo& op, Var table, Var index) {
  Shape rows = index.shape();
  rows.extent[rows.rank++] = table.shape().extent[table.shape().rank - 1];
  return table.tape->record(op, {table, index}, rows, table.dtype());
}
constexpr Var scatter_add(Var values, Var index, std::int64_t rows) {
  const Shape& shape = values.shape();
  return values.tape->record(op_info<ScatterAdd>, {values, index}, Shape::per_sample({rows, shape.extent[shape.rank - 1]}),
                             values.dtype());
}
}  // namespace detail

/// Adds values [batch, ..., width] up by index: int32 [batch, ...], as for `gather`, to [batch, rows, width], whose rows are
/// the sums of the values with their index, in the order of positions, or 0 if there are none. Values at the index `ignored`,
/// which lies outside the rows, are left out. Errors: no rows; an `ignored` among them; other shapes and types; indices
/// computed in other ways. An index outside the rows is detected when it is staged.
constexpr Var scatter_add(Var values, Var index, std::int64_t rows, std::int64_t ignored = LabelRange::none) {
  if (!detail::given(ScatterAdd::name, {values, index})) return {};
  Tape& tape = *values.tape;
  Shape named = values.shape();
  if (named.rank < 2 || named.batch_axis != 0 || named.extent[0] != 1) named = {};
  else named.extent[--named.rank] = 1;
  if (!(index.shape() == named) || values.dtype() == DType::i32)
    return tape.fail(Message() << "scatter_add: needs floats [batch, ..., width] and indices [batch, ...], got "
                               << values.shape() << " and " << index.shape(), {values});
  if (rows < 1 || (ignored >= 0 && ignored < rows))
    return tape.fail(Message() << "scatter_add: cannot sum in " << rows << " rows"
                               << (rows < 1 ? "" : ": the ignored one must be outside"), {values});
  if (!detail::takes_labels(ScatterAdd::name, values, index, rows, ignored, LabelRange::Of::place)) return {};
  return detail::scatter_add(values, index, rows);
}

constexpr Adjoints<2> GatherOwn::vjp(Var g, Var table, Var index, Var) {
  return {{detail::scatter_add(g, index, table.shape().extent[1]), {}}};
}
constexpr Adjoints<2> ScatterAdd::vjp(Var g, Var, Var index, Var) {
  return {{detail::gather(op_info<GatherOwn>, g, index), {}}};
}

}  // namespace gradual
