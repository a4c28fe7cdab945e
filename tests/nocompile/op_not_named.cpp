// expected-error: op 'mish' is not in the library: declare it in the model, `using Ops = OpList<...>`
#include <gradual/gradual.hpp>

#include "../../examples/03-own-op/mish.hpp"

using namespace gradual;

struct Model {
#if defined(GOOD)
  using Ops = OpList<Mish>;
#endif
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(mish(output(x)), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Sgd{}, 1).total() > 0);
