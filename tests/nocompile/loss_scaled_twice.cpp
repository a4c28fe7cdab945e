// expected-error: LossScale: the loss can be scaled once
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

#if defined(GOOD)
constexpr auto rule = LossScale{Adam{}};
#else
constexpr auto rule = LossScale{LossScale{Adam{}}};
#endif

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{rule}, {.global_batch = 8}); }
