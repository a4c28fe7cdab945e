#pragma once
#include <gradual/optim/parameter_names.hpp>
#include <gradual/optim/two_rules.hpp>

namespace gradual {

/// Updates parameters whose names are among `only` by `inner`, all others by `others`: `ByName{Sgd{}, AdamW{}, {{"table/*"}}}`.
/// Both are rules without adapters; adapters go around this.
template <class Inner, class Others>
struct ByName {
  using Ranges = RangesByName;
  Inner inner;
  Others others;
  ParameterNames only{{"*"}};
  using Ops = detail::OpsOfBoth<Inner, Others>;
  struct State {
    StateOf<Inner> inner;
    detail::MoreStates<Inner, Others> more;
    Var chosen;  ///< 1 where a parameter is the inner rule's, else 0
  };
  constexpr float initial(std::string_view name) const { return only.contain(name) ? 1 : 0; }
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto choose = [chosen = state.chosen == 1.0](Var a, Var b) { return where(chosen, a, b); };
    auto next = detail::update_by_either(inner, others, parameter, gradient, state, step, choose);
    next.state.chosen = state.chosen;
    return next;
  }
};
template <class Inner, class Others>
ByName(Inner, Others, ParameterNames) -> ByName<Inner, Others>;

}  // namespace gradual
