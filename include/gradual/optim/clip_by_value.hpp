#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Clamps every element of the window's mean gradient to [−limit, limit], then lets `inner` step. A NaN stays NaN.
template <class Inner>
struct ClipByValue {
  using Ranges = RangesByName;
  Inner inner;
  Scalar limit = 1.0;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var most = value_of(limit, step);
    return apply_rule(inner, parameter, maximum(minimum(gradient, most), -most), state, step);
  }
};
template <class Inner>
ClipByValue(Inner) -> ClipByValue<Inner>;
template <class Inner, class Number>
ClipByValue(Inner, Number) -> ClipByValue<Inner>;

}  // namespace gradual
