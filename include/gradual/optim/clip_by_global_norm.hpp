#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Scales the window's mean gradient so that its L2 norm over all parameters is at most `max_norm`
/// (Pascanu et al. 2013), then lets `inner` step.
template <class Inner>
struct ClipByGlobalNorm {
  using Ranges = RangesByName;
  Inner inner;
  Scalar max_norm = 1.0;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const double tiny = gradient.dtype() == DType::f64 ? 0x1p-600 : 0x1p-96;  // squares of large numbers overflow
    Var scaled = gradient * tiny;
    Var norm = sqrt(sum(gradient * gradient, {0})), scaled_norm = sqrt(sum(scaled * scaled, {0}));
    Var limit = value_of(max_norm, norm);
    Var clipped = where(norm < special::inf, limit / norm, limit * tiny / scaled_norm);
    Var factor = where(norm > limit, clipped, 1.0);
    return apply_rule(inner, parameter, gradient * factor, state, step);
  }
};
template <class Inner>
ClipByGlobalNorm(Inner) -> ClipByGlobalNorm<Inner>;
template <class Inner, class Number>
ClipByGlobalNorm(Inner, Number) -> ClipByGlobalNorm<Inner>;

}  // namespace gradual
