#pragma once
#include <gradual/optim/parameter_names.hpp>

namespace gradual {

/// Weight decay of some parameters only, decoupled from the gradient (Loshchilov and Hutter 2019): p ← (1 − λ)p for a parameter
/// whose name is among `only`, then `inner` steps. λ is the fraction lost in each step: AdamW's ηλ.
template <class Inner>
struct WeightDecay {
  using Ranges = RangesByName;
  Inner inner;
  Scalar decay = 1e-5;
  ParameterNames only{{"*"}};
  struct State {
    StateOf<Inner> inner;
    Var decays;  ///< 1 for parameters in `only`, else 0
  };
  constexpr float initial(std::string_view name) const { return only.contain(name) ? 1 : 0; }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var kept = parameter * (1.0 - value_of(decay, step) * state.decays);
    const auto next = apply_rule(inner, kept, gradient, state.inner, step);
    return update(next.parameter, State{next.state, state.decays});
  }
};
template <class Inner>
WeightDecay(Inner) -> WeightDecay<Inner>;
template <class Inner, class Decay>
WeightDecay(Inner, Decay) -> WeightDecay<Inner>;
template <class Inner, class Decay>
WeightDecay(Inner, Decay, ParameterNames) -> WeightDecay<Inner>;

}  // namespace gradual
