#pragma once
#include <gradual/optim/parameter_names.hpp>

namespace gradual {

/// A different learning rate for some parameters: a parameter whose name is among `only` moves by `factor` times what `inner`
/// would move it; the others are not affected. For several groups of parameters, nest one in another.
template <class Inner>
struct ScaleUpdate {
  using Ranges = RangesByName;
  Inner inner;
  Scalar factor = 1.0;
  ParameterNames only{{"*"}};
  struct State {
    StateOf<Inner> inner;
    Var scaled;  ///< 1 for parameters in `only`, else 0
  };
  constexpr float initial(std::string_view name) const { return only.contain(name) ? 1 : 0; }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto next = apply_rule(inner, parameter, gradient, state.inner, step);
    const Var moved = parameter + value_of(factor, step) * (next.parameter - parameter);
    return update(where(state.scaled == 1.0, moved, next.parameter), State{next.state, state.scaled});
  }
};
template <class Inner>
ScaleUpdate(Inner) -> ScaleUpdate<Inner>;
template <class Inner, class Factor>
ScaleUpdate(Inner, Factor) -> ScaleUpdate<Inner>;
template <class Inner, class Factor>
ScaleUpdate(Inner, Factor, ParameterNames) -> ScaleUpdate<Inner>;

}  // namespace gradual
