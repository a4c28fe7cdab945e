#pragma once
#include <gradual/autodiff/ops/reduce.hpp>

namespace gradual {

/// The product over trailing axes inside one sample; `integer[0]` counts them. Of nothing: 1.
struct Prod {
  static constexpr const char* name = "prod";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::row_reduce;
  static constexpr double identity = 1;
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a * b;
  }
  static constexpr Var vjp(Var g, Var x, Var y);
  template <class Check>
  static void sweep(Check& check) {
    check.run("prod", [](auto in) { return prod(in[0], {0, 2}); }, {{2, 3, 2}});
    check.run("prod, kept", [](auto in) { return square(prod(in[0], {-2}, true)); }, {Shape::per_sample({3, 2})});
    check.run("prod of all", [](auto in) { return prod(in[0], {0}); }, {{1}});
    check.run("prod where samples are not outermost", [](auto in) { return prod(transpose(in[0], {1, 0, 2}), {2}); },
              {Shape::per_sample({2, 3})});
  }
};

/// Returns the product over `axes`; 1 for no elements. Shapes and errors: those of `sum`.
constexpr Var prod(Var x, Axes axes, bool keep = false) {
  if (!detail::given(Prod::name, {x})) return {};
  return reduce_axes<Prod>(x, axes.begin(), static_cast<int>(axes.size()), keep, x.dtype());
}

namespace detail {
/// Returns the shape of a row of `width` for each element of `kept`; samples need not be outermost.
constexpr Shape as_rows(const Shape& kept, std::int64_t width) {
  Shape rows;
  const int first = kept.batched() ? kept.batch_axis : 0;
  if (kept.product(0, first) != 1) rows.extent[rows.rank++] = kept.product(0, first);
  if (kept.batched()) rows.batch_axis = rows.rank;
  rows.extent[rows.rank++] = kept.product(first, kept.rank);
  rows.extent[rows.rank++] = width;
  return rows;
}
}  // namespace detail

/// Multiplies, for each element, all others, without division: n² products, which a fused kernel does not store.
constexpr Var Prod::vjp(Var g, Var x, Var y) {
  const Shape rows = detail::as_rows(y.shape(), x.shape().product(y.shape().rank, x.shape().rank));
  const std::int64_t width = rows.extent[rows.rank - 1];
  Shape row = rows, table = rows;
  row.extent[rows.rank - 1] = 1;
  row.extent[row.rank++] = width;
  table.extent[table.rank++] = width;
  Var factors = broadcast(reshape(x, row), table);
  Var others = prod(where(iota(factors, rows.rank) == iota(factors, rows.rank - 1), 1.0, factors), {-1});
  return reshape(reshape(g, detail::as_rows(y.shape(), 1)) * others, x.shape());
}

}  // namespace gradual
