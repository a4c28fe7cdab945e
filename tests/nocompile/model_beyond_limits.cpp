// expected-error: a limit was exceeded, the model is long: -fconstexpr-ops-limit=
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr int steps = 2;
#else
constexpr int steps = 100'000;
#endif

struct Simulated {
  nn::Linear rate;
  constexpr explicit Simulated(Scope s) : rate(s / "rate", 2, 2) {}
  constexpr Loss loss(Var x) const {
    for (int i = 0; i < steps; ++i) x = x + 0.1 * rate(x);
    return {sum(square(x), {1})};
  }
};

static_assert(Compiled<Simulated, Inputs<f32[2]>>::Training::nodes > 0);
