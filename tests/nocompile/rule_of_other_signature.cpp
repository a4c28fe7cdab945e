// expected-error: an update rule needs `constexpr auto operator()(Var parameter, Var gradient, State state) const`
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Descent {
#if defined(GOOD)
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - 0.1 * gradient, state);
  }
#else
  constexpr auto operator()(Var parameter, Var gradient) const { return parameter - 0.1 * gradient; }
#endif
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Descent{}}, {.global_batch = 8}); }
