// expected-error: a Scalar's value varies from step to step: compute with value_of(scalar, step), which is a Var
#include <gradual/gradual.hpp>

using namespace gradual;

struct Averaging {
  Scalar learning_rate = 0.1f, decay = 0.9f;
  struct State {
    Var mean;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
#ifdef GOOD
    const Var fresh = 1.0 - value_of(decay, step);
#else
    const auto fresh = 1.0 - decay;
#endif
    const Var mean = decay * state.mean + fresh * gradient;
    return update(parameter - learning_rate * mean, State{mean});
  }
};

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Averaging{}, 1).total() > 0);
