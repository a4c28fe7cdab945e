// expected-error: convert labels of other integer types to i32
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
using Label = i32;
#else
using Label = std::int64_t;
#endif

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

static_assert(trace_training<Model>(Inputs<f32[64], Label>{}).inputs.size() == 2);
