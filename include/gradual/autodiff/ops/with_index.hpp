#pragma once
#include <gradual/autodiff/ops/argmin.hpp>
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/iota.hpp>
#include <gradual/autodiff/ops/equal.hpp>
#include <gradual/autodiff/ops/sum.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

/// An extremum over one axis, and the index of its first place, as int32. The adjoint goes to that place alone, whereas `max`
/// and `min` share it among equals.
struct WithIndex {
  Var value, index;
};

namespace detail {
/// Returns 1 where an element's place along the axis is its `index`, else 0.
constexpr Var is_at(const Shape& shape, Var index, int axis) {
  const int at = from_front(axis, shape.rank);
  Shape column = shape;
  for (int i = 0; i < column.rank; ++i)  // g++ warns of [at], as if it were −1
    if (i == at) column.extent[i] = 1;
  const Var places = broadcast(reshape(index, column), shape);
  return iota(places, at) == places;
}
constexpr WithIndex at_index(Var x, Var index, int axis) {
  if (!index.valid()) return {};
  return {sum(where(is_at(x.shape(), index, axis), x, 0.0), {axis}), index};
}
}  // namespace detail

/// Errors: those of `argmax`.
constexpr WithIndex max_with_index(Var x, int axis = -1) {
  const detail::Composite called("max_with_index", x);
  return detail::at_index(x, argmax(x, axis), axis);
}
constexpr WithIndex min_with_index(Var x, int axis = -1) {
  const detail::Composite called("min_with_index", x);
  return detail::at_index(x, argmin(x, axis), axis);
}

}  // namespace gradual
