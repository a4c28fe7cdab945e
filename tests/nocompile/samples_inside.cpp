// expected-error: transpose: the sample axis of [4, batch, 3] is not outermost, which only eager tapes can run
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  Parameter scale;
  constexpr explicit Model(Scope s) : scale(s.parameter("scale", Shape{3}, init::constant(1))) {}
  constexpr Loss loss(Var x, Var y) const {
#if defined(GOOD)
    const Var scaled = x * scale;
#else
    const Var scaled = transpose(transpose(x, {1, 0, 2}) * scale, {1, 0, 2});
#endif
    return {mse(scaled, y)};
  }
};

static_assert(Compiled<Model, Inputs<f32[4][3], f32[4][3]>>::Training::nodes > 0);
