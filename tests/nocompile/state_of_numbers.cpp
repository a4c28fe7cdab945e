// expected-error: a rule's State holds Vars, and states of Vars
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Decaying {
  struct State {
    Var velocity;
#if !defined(GOOD)
    float steps = 0;
#endif
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    state.velocity = state.velocity + gradient;
    return update(parameter - 0.1 * state.velocity, state);
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Decaying{}}, {.global_batch = 8}); }
