// expected-error: the optimizer has no Ema to keep an average
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear value;
  constexpr explicit Model(Scope s) : value(s / "value", 4, 1) {}
  constexpr Loss loss(Var x, Var target) const { return mse(value(x), target); }
};
using Net = Compiled<Model, Inputs<f32[4], f32[1]>>;

#if defined(GOOD)
constexpr auto optimizer = Accumulate{Ema{Adam{}}};
#else
constexpr auto optimizer = Accumulate{Adam{}};
#endif

float first(const Session<Net, std::remove_const_t<decltype(optimizer)>>& session) {
  return session.averaged_parameters().values()[0];
}
