// expected-error: loss returns one Var, or a Loss with metrics and weights, not several values
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear value;
  constexpr explicit Model(Scope s) : value(s / "value", 4, 1) {}
  constexpr auto loss(Var x, Var target) const {
    const Var error = value(x) - target;
#if defined(GOOD)
    return Loss(mean_per_sample(square(error)), metric("distance", mean_per_sample(abs(error))));
#else
    return std::pair(mean_per_sample(square(error)), mean_per_sample(abs(error)));
#endif
  }
};

static_assert(Compiled<Model, Inputs<f32[4], f32[1]>>::Training::nodes > 0);
