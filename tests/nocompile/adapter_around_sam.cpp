// expected-error: what evaluates each window twice stands around all other adapters
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr auto rule = Sam{Ema{Sgd{}}};
#else
constexpr auto rule = Ema{Sam{Sgd{}}};
#endif

static_assert(trace_update(rule, 1).error.empty());
