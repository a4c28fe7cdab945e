// expected-error: a change of scores is called as change(scores, before), by CrossAttention as change(scores)
#include <gradual/gradual.hpp>

using namespace gradual;

constexpr Var nearer(const nn::MultiHeadAttention& attention, Var x) {
#if defined(GOOD)
  return attention(x, {}, [](Var scores, Var before) { return scores - before; });
#else
  return attention(x, {}, [](Var scores) { return scores; });
#endif
}
static_assert(std::is_same_v<decltype(&nearer), Var (*)(const nn::MultiHeadAttention&, Var)>);
