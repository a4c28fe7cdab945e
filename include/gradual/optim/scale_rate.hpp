#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// How a learning rate grows with the window: in proportion (Goyal et al. 2017), or with the square root (Krizhevsky 2014).
enum class RateScaling : unsigned char { linear, square_root };

/// Ties the learning rate to the window: `inner`, whose rate was tuned for windows of weight `reference`, moves the parameters
/// by w/reference or √(w/reference) times as much, where w is the weight of this window: its number of samples if none has a
/// weight. So a short last window moves them less, and a growing window more.
template <class Inner>
struct ScaleRate {
  using Ranges = RangesByName;
  Inner inner;
  Scalar reference = 256.0;
  RateScaling scaling = RateScaling::linear;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state, step);
    const Var ratio = weight_of_window(step) / value_of(reference, step);
    const Var factor = where(value_of(scaling == RateScaling::linear ? 1 : 0, step) == 1.0, ratio, sqrt(ratio));
    const Var moved = parameter + factor * (next.parameter - parameter);
    return update(where(factor == 1.0, next.parameter, moved), next.state);
  }
};
template <class Inner, class Reference>
ScaleRate(Inner, Reference) -> ScaleRate<Inner>;
template <class Inner, class Reference>
ScaleRate(Inner, Reference, RateScaling) -> ScaleRate<Inner>;

}  // namespace gradual
