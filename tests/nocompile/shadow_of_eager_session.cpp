// expected-error: an eager session's sums are held in float
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr auto optimizer = Accumulate{Sgd{}}.in<float>();
#else
constexpr auto optimizer = Accumulate{Sgd{}}.in<double>();
#endif

using Eager = Session<Parameters, std::remove_const_t<decltype(optimizer)>, Inputs<>>;
static_assert(sizeof(Eager) > 0);
