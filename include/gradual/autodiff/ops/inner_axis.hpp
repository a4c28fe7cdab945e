#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual::detail {

/// Returns `axis` of x, counted from the end if negative, or −1 after an error: an axis out of range; the sample axis, along
/// which samples would be coupled.
constexpr int inner_axis(Var x, const char* op, int axis) {
  const Shape shape = x.shape();
  const int at = from_front(axis, shape.rank);
  Message wrong;
  if (at < 0 || at >= shape.rank) wrong << op << ": axis " << axis << " does not fit shape " << shape;
  else if (at == shape.batch_axis)
    wrong << op << ": working along the sample axis of " << shape << " couples the samples of a batch";
  else return at;
  x.tape->fail(wrong, {x});
  return -1;
}

}  // namespace gradual::detail
