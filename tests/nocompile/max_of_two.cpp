// expected-error: max reduces axes of one value, in braces: max(x, {1})
#include <gradual/gradual.hpp>

using namespace gradual;

constexpr Var larger(Var a, Var b) {
#if defined(GOOD)
  return maximum(maximum(a, 0.0), max(b, {1}, true));
#else
  return max(a, b);
#endif
}
static_assert(std::is_same_v<decltype(larger(Var{}, Var{})), Var>);
