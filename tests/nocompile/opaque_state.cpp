// expected-error: a session's state needs its opaque optimizer's: Checkpoint state() const and restore(const Checkpoint&)
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

void train() {
  Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Halving{}}, {.global_batch = 8});
  session.flush();
#if !defined(GOOD)
  session.save_state("run.safetensors");
#endif
}
