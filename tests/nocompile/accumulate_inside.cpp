// expected-error: Accumulate is not one: it goes outermost, around the adapters
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

void train() {
#if defined(GOOD)
  const auto optimizer = Accumulate{ClipByGlobalNorm{Sgd{}, 1.0}};
#else
  const auto optimizer = ClipByGlobalNorm{Accumulate{Sgd{}}, 1.0};
#endif
  Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, optimizer, {.global_batch = 8});
}
