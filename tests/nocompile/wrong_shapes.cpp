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
  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};
using Net = Compiled<Model, Inputs<f32[64], i32>>;

void learn() { Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 8}); }
void predict() { Inference<Net> predict(load("weights.safetensors"), 8); }
