// expected-error: there are 'distance', 'hits'
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear value;
  constexpr explicit Model(Scope s) : value(s / "value", 4, 1) {}
  constexpr Loss loss(Var x, Var target) const {
    const Var distance = mean_per_sample(abs(value(x) - target));
    return {distance, metric("distance", distance), metric("hits", distance < 0.5)};
  }
};
using Net = Compiled<Model, Inputs<f32[4], f32[1]>>;

double hits(const Averages& averages) {
#if defined(GOOD)
  return averages.metric(Net::metric("hits"));
#else
  return averages.metric(Net::metric("hit"));
#endif
}
