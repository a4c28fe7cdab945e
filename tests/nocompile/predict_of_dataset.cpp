// expected-error: predict takes spans of values, one for each of its inputs, not a Dataset
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 4, 2) {}
  constexpr Var predict(Var x) const { return output(x); }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};
using Net = Compiled<Model, Inputs<f32[4], i32>>;

std::vector<float> scores(Trainer<Net, Accumulate<Adam>>& trainer, const Dataset<f32, i32>& data, const std::vector<float>& x) {
#if defined(GOOD)
  static_cast<void>(data);
  return trainer.predict(x);
#else
  static_cast<void>(x);
  return trainer.predict(data);
#endif
}
