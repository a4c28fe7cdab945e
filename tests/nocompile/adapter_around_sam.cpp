// expected-error: an adapter that evaluates each window twice goes around all others
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr auto rule = Sam{Ema{Sgd{}}};
#else
constexpr auto rule = Ema{Sam{Sgd{}}};
#endif

static_assert(trace_update(rule, 1).error.empty());
