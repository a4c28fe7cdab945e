#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Scales the window's mean gradient so that its L2 norm over all parameters is at most `max_norm`
/// (Pascanu et al. 2013), then lets `inner` step. Squares are summed in the parameters' type: in float nothing is left of a
/// gradient whose norm is beyond 1.8e19.
template <class Inner>
struct ClipByGlobalNorm {
  using Ranges = RangesByName;
  Inner inner;
  Scalar max_norm = 1.0;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    Var norm = sqrt(sum(gradient * gradient, {0}));
    Var limit = value_of(max_norm, norm);
    Var factor = where(norm > limit, limit / norm, 1.0);
    return apply_rule(inner, parameter, gradient * factor, state, step);
  }
};
template <class Inner>
ClipByGlobalNorm(Inner) -> ClipByGlobalNorm<Inner>;
template <class Inner, class Number>
ClipByGlobalNorm(Inner, Number) -> ClipByGlobalNorm<Inner>;

}  // namespace gradual
