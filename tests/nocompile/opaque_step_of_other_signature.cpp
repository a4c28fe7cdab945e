// expected-error: an optimizer that is not a rule needs step(std::span<const ParameterView> parameters,
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Halving {
#if defined(GOOD)
  void step(std::span<const ParameterView> parameters, std::span<const GradientView>) {
#else
  void step(std::span<const ParameterView> parameters) {
#endif
    for (const ParameterView& p : parameters)
      for (float& value : p.values) value /= 2;
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Halving{}}, {.global_batch = 8}); }
