// expected-error: a rule of with_vjp must have no state, like a lambda without captures: pass what it needs as operands
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  double strength = 0.5;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = output(x);
#ifdef GOOD
    const Var reversed = with_vjp(scores, {scores, constant_like(scores, strength)},
                                  [](Var g, Var, Var by, Var) { return Adjoints<2>{{-by * g, {}}}; });
#else
    const Var reversed = with_vjp(scores, {scores}, [this](Var g, Var, Var) { return -strength * g; });
#endif
    return {cross_entropy(reversed, label)};
  }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Sgd{}, 1).total() > 0);
