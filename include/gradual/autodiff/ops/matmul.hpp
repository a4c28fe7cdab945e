#pragma once
#include <gradual/autodiff/functions.hpp>
#include <gradual/autodiff/numbers_of_one_type.hpp>

namespace gradual {

/// C = op(A)·op(B) for matrices, or for stacks of them with equal leading extents; bits 0 and 1 of `integer[0]` say
/// which operand is read transposed.
struct Matmul {
  static constexpr const char* name = "matmul";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::contract;
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var y) {
    const bool ta = y.attributes().integer[0] & 1, tb = y.attributes().integer[0] & 2;
    const bool samples_as_columns = ta && y.shape().rank == 2 && y.shape().batched();  // which no product can give
    const Var of_b = tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false);  // first: a may then no longer be needed
    const Var of_a = ta && !samples_as_columns ? matmul(b, g, tb, true) : matmul(g, b, false, !tb);
    return {{samples_as_columns ? transpose(of_a, {1, 0}) : of_a, of_b}};
  }
  template <class Check>
  static void sweep(Check& check) {
    for (int flags = 0; flags < 4; ++flags) {
      const bool ta = flags & 1, tb = flags & 2;
      const auto product = [=](auto in) { return square(matmul(in[0], in[1], ta, tb)); };
      const std::string of = std::string("matmul ") + (ta ? "transposed" : "plain") + (tb ? " transposed" : " plain");
      check.run(of, product, {ta ? Shape{4, 3} : Shape{3, 4}, tb ? Shape{2, 4} : Shape{4, 2}});
      check.run(of + " stacked", product, {ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, tb ? Shape{2, 2, 4} : Shape{2, 4, 2}});
      check.run(of + " stacked per sample", product,
                {Shape::per_sample(ta ? Shape{4, 3} : Shape{3, 4}), Shape::per_sample(tb ? Shape{2, 4} : Shape{4, 2})});
    }
    check.run("rows times a matrix", [](auto in) { return square(matmul(in[0], in[1])); }, {{2, 3, 4}, {4, 2}});
    check.run("samples times weights", [](auto in) { return tanh(0.3 * matmul(in[0], in[1]) + in[2]); },
              {Shape::per_sample({4}), {4, 2}, {2}});
    check.run("positions times weights", [](auto in) { return square(matmul(in[0], in[1], false, true)); },
              {Shape::per_sample({2, 4}), {3, 4}});
    for (bool tb : {false, true})
      check.run("samples that are columns",
                [=](auto in) { return square(matmul(transpose(in[0], {1, 0}), in[1], true, tb)); },
                {Shape::per_sample({4}), tb ? Shape{2, 4} : Shape{4, 2}});
  }
};

/// C = op(A)·op(B) as recorded: m×n outputs with chains of k steps, in each matrix of a stack.
struct ProductForm {
  bool trans_a, trans_b;
  std::int64_t m, n, k;
  std::int64_t stack;  ///< 1 for single matrices, 0 without outputs
};

/// Returns the form of a recorded product in a batch of `batch` samples. a: the shape of its left operand.
constexpr ProductForm product_of(const Node& node, const Shape& a, std::int64_t batch = 1) {
  const Shape& c = node.shape;
  ProductForm p{};
  p.trans_a = node.attributes.integer[0] & 1;
  p.trans_b = node.attributes.integer[0] & 2;
  p.m = c.extent_of(c.rank - 2, batch);
  p.n = c.extent_of(c.rank - 1, batch);
  p.k = a.extent_of(a.rank - (p.trans_a ? 2 : 1), batch);
  p.stack = p.m * p.n == 0 ? 0 : c.product(0, c.rank - 2, batch);
  return p;
}

/// Aᵀ·B where the rows of both hold the batch: sums over samples, only in backward.
struct BatchMatmul {
  using AdjointOf = Matmul;
  static constexpr const char* name = "batch_matmul";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::batch_contract;
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) {
    return {{matmul(b, g, false, true), matmul(a, g, false, false)}};
  }
};

/// Multiplies a: [..., m, k] by b: [k, n] or [..., k, n] with the same leading extents; last two axes swapped where transposed.
/// Errors: types that differ, ranks below 2, inner extents that differ, products that would couple samples.
template <class>
constexpr Var matmul(Var a, Var b, bool transpose_a, bool transpose_b) {
  if (!detail::given("matmul", {a, b}) || !numbers_of_one_type("matmul", a, b)) return {};
  Tape& tape = *a.tape;
  const Shape sa = a.shape(), sb = b.shape();
  if (sa.rank < 2 || sb.rank < 2)
    return tape.fail(Message() << "matmul: needs matrices, got " << sa << " and " << sb, {a, b});
  if (sa.rank > 2 && sb.rank == 2 && !transpose_a) {  // one matrix for all: the leading axes are rows
    const detail::Composite called("matmul", a);
    const auto columns = sa.extent[sa.rank - 1], wanted = sb.extent[transpose_b ? 1 : 0];
    if (columns != wanted && sa.batched() && sa.unit() == wanted)
      return tape.fail(Message() << "matmul: left operand has " << columns << " columns, right operand has " << wanted
                                 << " rows, as many as a sample of " << sa << " has values: flatten it", {a, b});
    Shape rows{sa.product(0, sa.rank - 1), sa.extent[sa.rank - 1]}, out = sa;
    if (sa.batched() && sa.batch_axis < sa.rank - 1) rows.batch_axis = 0;
    Var y = matmul(reshape(a, rows), b, false, transpose_b);
    if (!y.valid()) return y;
    out.extent[out.rank - 1] = y.shape().extent[1];
    return reshape(y, out);
  }
  const int ka = sa.rank - (transpose_a ? 2 : 1), ma = sa.rank - (transpose_a ? 1 : 2);
  const int kb = sb.rank - (transpose_b ? 1 : 2), nb = sb.rank - (transpose_b ? 2 : 1);
  const bool meet = ka == sa.batch_axis && kb == sb.batch_axis;
  if ((ka == sa.batch_axis) != (kb == sb.batch_axis))
    return tape.fail(Message() << "matmul: of " << sa << " and " << sb << ", one would sum over its sample axis", {a, b});
  if (sa.extent[ka] != sb.extent[kb])
    return tape.fail(Message() << "matmul: left operand has " << sa.extent[ka] << " columns, right operand has "
                               << sb.extent[kb] << " rows", {a, b});
  bool fits = sa.rank == sb.rank && nb != sb.batch_axis && ((ma != sa.batch_axis && !meet) || sa.rank == 2);
  for (int i = 0; i < sa.rank - 2 && fits; ++i)
    fits = sa.extent[i] == sb.extent[i] && (sa.batch_axis == i) == (sb.batch_axis == i);
  if (!fits && sa.rank == 2 && sb.rank == 2 && ma == sa.batch_axis && nb == sb.batch_axis)
    return tape.fail(Message() << "matmul: products of " << sa << " with other samples of " << sb
                               << " couple the samples of a batch: what each is compared with must be an input of its own",
                     {a, b});
  if (!fits) {
    bool once = false;
    for (int i = 0; i < sa.rank - 2 && sa.rank == sb.rank; ++i)
      once |= i != sa.batch_axis && sa.extent[i] != sb.extent[i] && (sa.extent[i] == 1 || sb.extent[i] == 1);
    const char* how = sa.batched() != sb.batched() ? ": broadcast(it, Shape::per_sample({...})) gives one to each sample"
                      : once                       ? ": broadcast(it, shape) repeats a stack of one"
                                                   : "";
    return tape.fail(Message() << "matmul: stacks " << sa << " and " << sb << " do not match" << how, {a, b});
  }
  Shape out = sa;
  if (meet) out.batch_axis = -1;
  if (ma == sa.batch_axis) out.batch_axis = sa.rank - 2;
  out.extent[sa.rank - 2] = sa.extent[ma];
  out.extent[sa.rank - 1] = sb.extent[nb];
  if (meet) {
    if (!tape.in_backward)
      return tape.fail(Message() << "matmul: contracting the sample axis of " << sa << " and " << sb
                                 << " couples the samples of a batch", {a, b});
    const Var rows_a = transpose_a ? a : transpose(a, {1, 0}), rows_b = transpose_b ? transpose(b, {1, 0}) : b;
    return tape.record(op_info<BatchMatmul>, {rows_a, rows_b}, out, computed_in(a.dtype()));
  }
  const Attributes attributes{.integer = {(transpose_a ? 1 : 0) | (transpose_b ? 2 : 0)}};
  return tape.record(op_info<Matmul>, {a, b}, out, a.dtype(), attributes);
}

}  // namespace gradual
