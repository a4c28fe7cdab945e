#pragma once
#include <gradual/autodiff/ops/reduce.hpp>

namespace gradual {

/// Sum over trailing axes inside one sample; `integer[0]` counts them.
struct Sum {
  static constexpr const char* name = "sum";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::row_reduce;
  static constexpr double identity = 0;
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a + b;
  }
  static constexpr Var vjp(Var g, Var x, Var) { return spread(g, x); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("sum", [](auto in) { return square(sum(in[0], {0, 2})); }, {{2, 3, 4}});
    check.run("sum per sample", [](auto in) { return square(sum(in[0], {-1}, true)); }, {Shape::per_sample({2, 5})});
    check.run("sum of all", [](auto in) { return square(sum(in[0], {0, 1})); }, {{2, 40}});
    check.run("sum of nothing", [](auto in) { return square(sum(in[0], {1})) + in[1]; }, {{2, 0}, {2}});
  }
};

/// Sum over leading axes that hold the batch: only in backward.
struct BatchSum {
  using AdjointOf = struct Broadcast;
  static constexpr const char* name = "batch_sum";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::batch_reduce;
  static constexpr Var vjp(Var g, Var x, Var) { return broadcast(g, x.shape()); }
};

/// Returns the sum over `axes` inside one sample (negative: from the end), which the result lacks or, with `keep`, has with
/// extent 1; 0 for no elements. Errors: an axis out of range or given twice; the sample axis; TypeError for integers.
constexpr Var sum(Var x, Axes axes, bool keep) {
  if (!detail::given(Sum::name, {x})) return {};
  return reduce_axes<Sum>(x, axes.begin(), static_cast<int>(axes.size()), keep, x.dtype());
}

/// Returns the mean over `axes`; NaN for no elements. Shapes and errors: those of `sum`.
constexpr Var mean(Var x, Axes axes, bool keep) {
  const detail::Composite called("mean", x);
  if (!x.valid()) return {};
  if (is_small(x.dtype())) return convert(mean(widened(x), axes, keep), x.dtype());
  std::int64_t count = 1;
  for (int axis : axes) {
    const int at = from_front(axis, x.shape().rank);
    if (at >= 0 && at < x.shape().rank) count *= x.shape().extent[at];
  }
  Var total = sum(x, axes, keep);
  return total.valid() ? total / static_cast<double>(count) : total;
}

/// Sums x over every axis along which `shape` would be repeated to reach x: the adjoint of broadcasting.
constexpr Var reduce_to(Var x, const Shape& shape) {
  if (!x.valid() || x.shape() == shape) return x;
  const Shape from = x.shape();
  bool reduced[max_rank]{};
  int prefix = 0;
  for (int i = 0; i < from.rank; ++i) {
    int at = i - (from.rank - shape.rank);
    bool one = at < 0 || (shape.extent[at] == 1 && at != shape.batch_axis);
    reduced[i] = one && (from.extent[i] != 1 || i == from.batch_axis);
  }
  while (prefix < from.rank && (reduced[prefix] || (from.extent[prefix] == 1 && prefix != from.batch_axis))) ++prefix;
  const bool over_batch = from.batched() && reduced[from.batch_axis];
  if (over_batch && from.product(0, from.batch_axis) != 1) {  // blocks consist of samples: move them to the front
    int order[max_rank]{from.batch_axis}, next = 1;
    Shape rest;
    for (int i = 0; i < from.rank; ++i)
      if (i != from.batch_axis) order[next++] = i;
    for (int i = 0; i < shape.rank; ++i)
      if (i != from.batch_axis - (from.rank - shape.rank)) rest.extent[rest.rank++] = shape.extent[i];
    return reshape(reduce_to(detail::transpose(x, order), rest), shape);
  }
  if (!over_batch) prefix = 0;
  else if (prefix == from.rank) prefix = from.batch_axis + 1;  // no axis would be left to vectorise over: rows first
  int axes[max_rank]{}, count = 0;
  for (int i = prefix; i < from.rank; ++i)
    if (reduced[i]) axes[count++] = i;
  x = reduce_axes<Sum>(x, axes, count, false, x.dtype());
  if (over_batch && x.valid()) {
    Shape rest;
    for (int i = prefix; i < x.shape().rank; ++i) rest.extent[rest.rank++] = x.shape().extent[i];
    x = x.tape->record(op_info<BatchSum>, {x}, rest, computed_in(x.dtype()), {.integer = {prefix}});
  }
  return reshape(x, shape);
}

}  // namespace gradual
