// expected-error: a net in double keeps sums in double, not in pairs
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

#if defined(GOOD)
constexpr auto optimizer = Accumulate{Sgd{}}.in<double>();
#else
constexpr auto optimizer = Accumulate{Sgd{}}.in<Compensated<float>>();
#endif

using Net = Compiled<Model, Inputs<f64[2], f64[1]>>;
static_assert(Net::training_memory(optimizer, 4).total() > 0);
