// expected-error: schedule_has_too_few_steps
#include <gradual/gradual.hpp>

using namespace gradual;

#if defined(GOOD)
constexpr Adam adam{.learning_rate = schedule::cosine(1e-3, 11, 10)};
#else
constexpr Adam adam{.learning_rate = schedule::cosine(1e-3, 10, 10)};
#endif
