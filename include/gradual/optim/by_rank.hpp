#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/two_rules.hpp>

namespace gradual {

/// Updates parameters of two or more axes, such as weights, by `inner`, and all others, such as biases and scales of norms, by
/// `others`: `ByRank{Lion{}, AdamW{}}`. Both are rules without adapters; adapters go around this.
template <class Inner, class Others>
struct ByRank {
  using Ranges = RangesByName;
  Inner inner;
  Others others;
  using Ops = detail::OpsOfBoth<Inner, Others>;
  struct State {
    StateOf<Inner> inner;
    detail::MoreStates<Inner, Others> more;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto choose = [parameter](Var a, Var b) {  // a row of zeros has no parts of its own
      return by_parameter([](Var part, Var x, Var y) { return part.shape().rank > 1 ? x : y; }, parameter, a, b);
    };
    return detail::update_by_either(inner, others, parameter, gradient, state, step, choose);
  }
};
template <class Inner, class Others>
ByRank(Inner, Others) -> ByRank<Inner, Others>;

}  // namespace gradual
