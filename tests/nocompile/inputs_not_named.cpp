// expected-error: write a net's inputs as in Compiled<Model, Inputs<f32[64], i32>>
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 4, 2) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

#if defined(GOOD)
using Net = Compiled<Model, Inputs<f32[4], i32>>;
#else
using Net = Compiled<Model, f32[4], i32>;
#endif
static_assert(Net::Training::nodes > 0);
