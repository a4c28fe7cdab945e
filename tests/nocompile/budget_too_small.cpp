// expected-error: no share of kept activations fits
#include <gradual/gradual.hpp>
using namespace gradual;

struct Model {
  nn::Linear hidden, output;
  constexpr explicit Model(Scope s) : hidden(s / "hidden", 64, 128), output(s / "output", 128, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(relu(hidden(x))), label)}; }
};
using Net = Compiled<Model, Inputs<f32[64], i32>>;

#ifdef GOOD
using Small = WithinBudget<Net, Accumulate<Sgd>, 64, 1_MiB>;
#else
using Small = WithinBudget<Net, Accumulate<Sgd>, 64, 1_KiB>;
#endif
static_assert(Small::kept == 100);
