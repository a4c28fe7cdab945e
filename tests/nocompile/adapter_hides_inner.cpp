// expected-error: an adapter's wrapped rule must be its member
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

template <class Rule>
struct Doubled {
#if defined(GOOD)
  Rule inner;
#else
  Rule base;
#endif
  using State = StateOf<Rule>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
#if defined(GOOD)
    return apply_rule(inner, parameter, 2.0 * gradient, state, step);
#else
    return apply_rule(base, parameter, 2.0 * gradient, state, step);
#endif
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Doubled<Adam>{}}, {.global_batch = 8}); }
