// expected-error: elementwise<Op> takes as many values as the op's arity
#include <gradual/gradual.hpp>

#include "../../examples/03-own-op/mish.hpp"

using namespace gradual;

struct Model {
  using Ops = OpList<Mish>;
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = output(x);
#ifdef GOOD
    return {cross_entropy(elementwise<Mish>(scores), label)};
#else
    return {cross_entropy(elementwise<Mish>(scores, scores), label)};
#endif
  }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Sgd{}, 1).total() > 0);
