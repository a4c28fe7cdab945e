// expected-error: an op without a derivative declares static constexpr bool differentiable = false
#include <gradual/gradual.hpp>

using namespace gradual;

struct Square {
  static constexpr const char* name = "square";
  static constexpr int arity = 1;
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * x;
  }
#ifdef GOOD
  static constexpr Var vjp(Var g, Var x, Var) { return g * 2.0 * x; }
#else
  static constexpr Var vpj(Var g, Var x, Var) { return g * 2.0 * x; }
#endif
};

struct Model {
  using Ops = OpList<Square>;
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(elementwise<Square>(output(x)), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Sgd{}, 1).total() > 0);
