// expected-error: matmul: left operand has 512 columns, right operand has 500 rows (in layer 'output')
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr int width = 512;
#else
constexpr int width = 500;
#endif

struct Model {
  nn::Linear hidden, output;
  constexpr explicit Model(Scope s) : hidden(s / "hidden", 64, 512), output(s / "output", width, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(relu(hidden(x))), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::Training::nodes > 0);
