// expected-error: rules for groups of parameters have no adapters
#include <gradual/gradual.hpp>

using namespace gradual;

struct Begun {
  struct State {
    Var sum;
  };
#if !defined(GOOD)
  constexpr float initial(std::string_view) const { return 0.0625f; }
#endif
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    const Var sum = state.sum + gradient * gradient;
    return update(parameter - 0.1 * gradient / (sqrt(sum) + 1e-8), State{sum});
  }
};

static_assert(trace_update(ByName{Adam{}, Begun{}, {{"*"}}}, 1).error.empty());
