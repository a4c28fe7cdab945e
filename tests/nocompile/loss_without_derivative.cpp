// expected-error: loss: has no derivative with respect to any parameter, so nothing would be learned: argmax, comparisons, round and stop_gradient let none through (after layer 'output')
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = output(x);
#if defined(GOOD)
    return {cross_entropy(scores, label)};
#else
    return {where(argmax(scores) == label, 0.0, 1.0)};
#endif
  }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::Training::nodes > 0);
