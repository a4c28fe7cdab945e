// expected-error: an opaque optimizer takes gradients of the parameters' type: wider sums would be rounded
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

struct Halving {
  void step(std::span<const ParameterView> parameters, std::span<const GradientView>) {
    for (const ParameterView& p : parameters)
      for (float& value : p.values) value /= 2;
  }
};

#if defined(GOOD)
constexpr auto optimizer = Accumulate{Halving{}}.in<Compensated<bf16>>();
#else
constexpr auto optimizer = Accumulate{Halving{}}.in<double>();
#endif

using Wrapped = Session<Compiled<Model, Inputs<f32[2], f32[1]>>, std::remove_const_t<decltype(optimizer)>>;
static_assert(sizeof(Wrapped) > 0);
