// expected-error: predict returns one Var: concat({a, b}, 1) joins several
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear policy, value;
  constexpr explicit Model(Scope s) : policy(s / "policy", 4, 2), value(s / "value", 4, 1) {}
#if defined(GOOD)
  constexpr Var predict(Var x) const { return concat({policy(x), value(x)}, 1); }
#else
  constexpr std::array<Var, 2> predict(Var x) const { return {policy(x), value(x)}; }
#endif
  constexpr Loss loss(Var x, Var action) const { return {cross_entropy(policy(x), action)}; }
};

static_assert(Compiled<Model, Inputs<f32[4], i32>>::Prediction::nodes > 0);
