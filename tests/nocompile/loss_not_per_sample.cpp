// expected-error: loss: needs one value per sample, shape [batch] or [batch, tokens], got [] (after layer 'output')
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  Parameter weight;
  constexpr explicit Model(Scope s) : weight((s / "output").parameter("weight", Shape{64, 10}, init::zeros())) {}
  constexpr Loss loss(Var x, Var label) const {
#if defined(GOOD)
    return {cross_entropy(matmul(x, weight), label)};
#else
    return {sum(square(weight.on(x)), {0, 1})};
#endif
  }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::Training::nodes > 0);
