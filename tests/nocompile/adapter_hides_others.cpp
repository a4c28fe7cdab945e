// expected-error: a second rule in an adapter must be its member
#include <gradual/gradual.hpp>

using namespace gradual;

/// The mean of the parameters that two rules give.
template <class Inner, class Others>
struct Mean {
  Inner inner;
  Others others;
  struct State {
    StateOf<Inner> inner;
    StateOf<Others> others;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const auto a = apply_rule(inner, parameter, gradient, state.inner, step);
    const auto b = apply_rule(others, parameter, gradient, state.others, step);
    return update(0.5 * (a.parameter + b.parameter), State{a.state, b.state});
  }
};

#if defined(GOOD)
constexpr WeightDecay rule{Mean<ClipByValue<Sgd>, Adam>{}, 0.01, {{"*/weight"}}};
#else
constexpr Mean<Sgd, WeightDecay<Adam>> rule;
#endif

static_assert(trace_update(rule, 1).error.empty());
