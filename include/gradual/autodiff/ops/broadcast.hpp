#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// Repeats its operand to a larger shape, aligned at the last axis. Derivative: the sum over the repeated axes.
struct Broadcast {
  static constexpr const char* name = "broadcast";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::broadcast;
  static constexpr Var vjp(Var g, Var x, Var) { return reduce_to(g, x.shape()); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("broadcast", [](auto in) { return square(broadcast(in[0], Shape{2, 3, 4})); }, {{3, 1}});
    for (const Shape& repeated : {Shape{4, 1, 3}, Shape{4, 1, 1}, Shape{1, 3}, Shape{}})
      check.run("repeated along samples that are not outermost",
                [](auto in) { return transpose(in[0], {1, 0, 2}) * in[1]; }, {Shape::per_sample({4, 3}), repeated});
    check.run("repeated along samples that are innermost",
              [](auto in) { return transpose(in[0], {1, 2, 0}) * in[1]; }, {Shape::per_sample({4, 3}), {4, 1, 1}});
    check.run("repeated along samples and an axis before them",
              [](auto in) { return transpose(in[0], {1, 2, 0, 3}) * in[1]; }, {Shape::per_sample({4, 2, 3}), {2, 1, 3}});
  }
};

namespace detail {
/// Whether `from`, aligned at the last axis, repeats to `to`: each axis is the same, or has extent 1 and is not the sample
/// axis.
constexpr bool repeats_to(const Shape& from, const Shape& to) {
  const int added = to.rank - from.rank;
  bool fits = added >= 0;
  for (int i = 0; i < from.rank && fits; ++i) {
    const bool samples = i == from.batch_axis;
    const bool same = from.extent[i] == to.extent[i + added] && samples == (i + added == to.batch_axis);
    fits = same || (from.extent[i] == 1 && !samples);
  }
  return fits;
}
}  // namespace detail

/// Repeats x to `shape`, aligned at the last axis. Errors: an axis of x whose extent is neither 1 nor that of `shape`.
constexpr Var broadcast(Var x, const Shape& shape) {
  if (!detail::given(Broadcast::name, {x}) || x.shape() == shape) return x;
  if (!detail::repeats_to(x.shape(), shape))
    return x.tape->fail(Message() << "broadcast: shape " << x.shape() << " cannot be repeated to " << shape, {x});
  if (x.node().op->kind == Kind::constant) return x.tape->record(*x.node().op, {}, shape, x.dtype(), x.attributes());
  return x.tape->record(op_info<Broadcast>, {x}, shape, x.dtype());
}

}  // namespace gradual
