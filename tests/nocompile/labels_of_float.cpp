// expected-error: cross_entropy: labels are int32 class indices, got float (after layer 'output')
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
using Label = i32;
#else
using Label = f32;
#endif

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], Label>>::Training::nodes > 0);
