// expected-error: models and rules must be constexpr within the compiler's limits: see first error
#include <gradual/gradual.hpp>

using namespace gradual;

struct Mlp {
  nn::Linear output;
#if defined(GOOD)
  constexpr
#endif
  explicit Mlp(Scope s) : output(s / "output", 4, 2) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

static_assert(Compiled<Mlp, Inputs<f32[4], i32>>::Training::nodes > 0);
