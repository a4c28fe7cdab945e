// expected-error: predict takes a span for each argument of the model, and returns the outputs
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 4, 2) {}
  constexpr Var predict(Var x, Var h) const { return output(x) + h; }
  constexpr Loss loss(Var x, Var h, Var label) const { return {cross_entropy(predict(x, h), label)}; }
};
using Net = Compiled<Model, Inputs<f32[4], f32[2], i32>>;

void next(Session<Net, Accumulate<Adam>>& session, const std::vector<float>& x, std::vector<float>& h) {
#if defined(GOOD)
  h = session.predict(x, h);
#else
  session.predict(x, h, h);
#endif
}
