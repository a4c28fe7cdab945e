// expected-error: an update rule leaves value 0 of its State with the shape [3] instead of [2]
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Mean {
  struct State {
    Var mean;  // one number for each of two parameters
  };
  static constexpr Shape state_shape(int, const Shape&) { return Shape{1}; }
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
#if defined(GOOD)
    const Var mean = by_parameter([](Var, Var g) { return g.shape().rank == 2 ? sum(g, {0, 1}) : sum(g, {0}); }, state.mean, gradient);
#else
    const Var mean = gradient;
#endif
    return update(parameter - 0.1 * gradient, State{mean});
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Mean{}}, {.global_batch = 8}); }
