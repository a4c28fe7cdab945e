#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// The scale of a loss: a power of two, so that gradients keep all their bits unless they overflow or underflow.
struct LossScaling {
  double start = 65536;
  std::int64_t double_after = 2000;  ///< windows without overflow after which it is doubled; 0: it stays as it is

  /// Returns 1 / the scale of the window.
  constexpr Scalar unscale() const {
    Scalar result(1 / start);
    result.kind = Scalar::Kind::loss_unscale;
    return result;
  }
};

/// Scales the loss before backward and unscales the window's gradient before `inner` (Micikevicius et al. 2018), so that
/// adjoints too small for their type do not vanish. A window whose scaled gradient is not finite makes no step, like any such
/// window, and halves the scale, never below 1. Adapters outside this one see the scaled gradient.
///   Accumulate{LossScale{ClipByGlobalNorm{Adam{}}}}                              // dynamic, from 65536 on
///   Accumulate{LossScale{Adam{}, {.start = 1024, .double_after = 0}}}            // static
template <class Inner>
struct LossScale {
  Inner inner;
  LossScaling scaling = {};
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    return apply_rule(inner, parameter, gradient * scaling.unscale(), state, step);
  }
};
template <class Inner>
LossScale(Inner) -> LossScale<Inner>;
template <class Inner>
LossScale(Inner, LossScaling) -> LossScale<Inner>;
template <class Inner>  // otherwise a second one would be a copy of the first, and compile
LossScale(LossScale<Inner>) -> LossScale<LossScale<Inner>>;

/// Returns the value of a rule's number in a step, after a window whose loss was scaled.
inline double value_of_scalar(const Scalar& scalar, std::int64_t step, double loss_scale) {
  return scalar.kind == Scalar::Kind::loss_unscale ? 1 / loss_scale : scalar.at(step);
}

/// The number of times that a rule scales the loss.
template <class Rule>
inline constexpr int loss_scales = 0;
template <class Rule>
  requires detail::IsAdapter<Rule>
inline constexpr int loss_scales<Rule> = loss_scales<decltype(Rule::inner)>;
template <class Inner>
inline constexpr int loss_scales<LossScale<Inner>> = loss_scales<Inner> + 1;

/// Returns the scaling of the only LossScale in a rule that has one.
template <class Inner>
constexpr const LossScaling& loss_scaling_of(const LossScale<Inner>& rule) {
  return rule.scaling;
}
template <class Rule>
constexpr const LossScaling& loss_scaling_of(const Rule& rule) {
  return loss_scaling_of(rule.inner);
}

}  // namespace gradual
