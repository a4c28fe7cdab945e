// expected-error: sum: reducing the sample axis of [batch, 10] couples the samples of a batch (after layer 'output')
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr int axis = 1;
#else
constexpr int axis = 0;
#endif

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    Var scores = output(x);
    return {cross_entropy(scores - mean(scores, {axis}, true), label)};
  }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::Training::nodes > 0);
