// expected-error: rules for groups of parameters have no adapters
#include <gradual/gradual.hpp>

using namespace gradual;

struct Anchored {
#if !defined(GOOD)
  static constexpr bool follows_parameters = true;
#endif
  struct State {
    Var start;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var start = where(step == 1.0, parameter, state.start);
    return update(parameter - 0.1 * gradient + 0.1 * (start - parameter), State{start});
  }
};

static_assert(trace_update(ByName{Anchored{}, Adam{}, {{"*"}}}, 1).error.empty());
