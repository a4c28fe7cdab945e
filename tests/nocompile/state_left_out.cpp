// expected-error: an update rule returns update(parameter, State{...}) with the State that it declares
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Momentum {
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    state.velocity = 0.9 * state.velocity + gradient;
#if defined(GOOD)
    return update(parameter - 0.1 * state.velocity, state);
#else
    return update(parameter - 0.1 * state.velocity, NoState{});
#endif
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Momentum{}}, {.global_batch = 8}); }
