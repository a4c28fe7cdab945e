#pragma once
#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/autodiff/ops/negate.hpp>

namespace gradual {

/// Returns the index of the first smallest element over one axis, as int32; NaN counts as smallest. Not differentiable.
/// Errors: those of `argmax`.
constexpr Var argmin(Var x, int axis = -1) {
  const detail::Composite called("argmin", x);
  return argmax(-x, axis);
}

}  // namespace gradual
