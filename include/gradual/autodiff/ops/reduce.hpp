#pragma once
#include <gradual/autodiff/numbers_of_one_type.hpp>
#include <gradual/autodiff/ops/transpose.hpp>

namespace gradual {

namespace detail {
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr Var reduce_axes(const OpInfo& op, Var x, const int* axes, int count, bool keep,
                                            DType dtype) {
  const Shape from = x.shape();
  if (x.dtype() == DType::i32)
    return x.tape->fail<TypeError>(Message() << op.name << ": integers cannot be reduced: convert them to float first", {x});
  const bool scalar = op.takes_floats || op.takes_doubles;  // all reductions but argmax
  if (scalar && !(x.dtype() == DType::f64 ? op.takes_doubles : op.takes_floats)) return refuse_type_of_op(op, x);
  bool reduced[max_rank]{};
  for (int i = 0; i < count; ++i) {
    const int axis = from_front(axes[i], from.rank);
    const bool there = axis >= 0 && axis < from.rank;
    if (!there || reduced[axis])
      return x.tape->fail(Message() << op.name << ": axis " << axes[i]
                                    << (there ? " is given twice for shape " : " does not fit shape ") << from, {x});
    if (axis == from.batch_axis)
      return x.tape->fail(Message() << op.name << ": reducing the sample axis of " << from
                                    << " couples the samples of a batch"
                                    << (from.rank > 1 ? ""
                                                      : ": a loss is one value per sample, the library takes the mean; samples "
                                                        "to be compared must form one sample"),
                          {x});
    reduced[axis] = true;
  }
  if (count == 0) return x;
  int order[max_rank]{}, next = 0;
  Shape kept, result;
  for (int i = 0; i < from.rank; ++i)
    if (!reduced[i]) order[next++] = i;
  for (int i = 0; i < from.rank; ++i)
    if (reduced[i]) order[next++] = i;
  for (int i = 0; i < from.rank; ++i) {
    if (i == from.batch_axis) {
      kept.batch_axis = kept.rank;
      result.batch_axis = result.rank;
    }
    if (!reduced[i]) kept.extent[kept.rank++] = from.extent[i];
    if (!reduced[i] || keep) result.extent[result.rank++] = reduced[i] ? 1 : from.extent[i];
  }
  Var moved = transpose(x, order);
  return reshape(x.tape->record(op, {moved}, kept, dtype, {.integer = {count}}), result);
}
}  // namespace detail

/// Records a reduction over `axes`, which are first moved to the end. Negative axes count from the end.
/// Errors: an axis out of range or named twice; the sample axis (samples would be coupled); TypeError for integers.
template <class Op>
constexpr Var reduce_axes(Var x, const int* axes, int count, bool keep, DType dtype) {
  return detail::reduce_axes(op_info<Op>, x, axes, count, keep, dtype);
}

/// Does the same as `reduce_axes` for ops undefined for no elements: max, min, argmax. Errors: also an axis without elements.
template <class Op>
constexpr Var reduce_some(Var x, const int* axes, int count, bool keep, DType dtype) {
  const Shape& shape = x.shape();
  for (int i = 0; i < count; ++i) {
    const int axis = from_front(axes[i], shape.rank);
    if (axis >= 0 && axis < shape.rank && axis != shape.batch_axis && shape.extent[axis] == 0)
      return x.tape->fail(Message() << Op::name << ": axis " << axes[i] << " of " << shape << " has no elements", {x});
  }
  return reduce_axes<Op>(x, axes, count, keep, dtype);
}

/// Returns a row reduction of x, or its adjoint, with the reduced axes, of extent 1.
constexpr Var with_reduced_axes(Var of_rows, Var x) {
  Shape kept = x.shape();
  for (int i = of_rows.shape().rank; i < kept.rank; ++i) kept.extent[i] = 1;
  return reshape(of_rows, kept);
}

/// Returns the adjoint of a row reduction, repeated along the reduced axes of x.
constexpr Var spread(Var g, Var x) { return broadcast(with_reduced_axes(g, x), x.shape()); }

/// Returns the adjoint of an extremum y over trailing axes of x: the elements that equal it share g evenly.
constexpr Var share_among_equals(Var g, Var x, Var y) {
  Var equal = x == spread(y, x);
  Var kept = with_reduced_axes(g, x);
  return where(equal, broadcast(kept / reduce_to(equal, kept.shape()), x.shape()), 0.0);
}

}  // namespace gradual
