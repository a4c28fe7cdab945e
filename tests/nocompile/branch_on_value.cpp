// expected-error: a program cannot branch on a Var: where(condition, yes, no) selects element by element
#include <gradual/gradual.hpp>

using namespace gradual;

constexpr Var positive(Var x) {
#if defined(GOOD)
  return where((x > 0.0) * (x < 1.0), x, 0.0);
#else
  return x > 0.0 && x < 1.0 ? x : 0.0 * x;
#endif
}
static_assert(std::is_same_v<decltype(positive(Var{})), Var> && !std::is_convertible_v<Var, bool>);
