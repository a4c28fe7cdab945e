// expected-error: is a view of double[batch, 2], but the differentiated value was computed from that, not from the view
#include <gradual/gradual.hpp>

using namespace gradual;

struct Heat {  // u_t = u_xx
  nn::Linear hidden, output;
  constexpr explicit Heat(Scope s) : hidden(s / "hidden", 2, 8), output(s / "output", 8, 1) {}
  constexpr Loss loss(Var at) const {
    const Var x = slice(at, 1, 0, 1), t = slice(at, 1, 1, 1);
#if defined(GOOD)
    const Var u = output(tanh(hidden(concat({x, t}, 1))));
#else
    const Var u = output(tanh(hidden(at)));
#endif
    const Var by_x = gradients(u, {x})[0], by_t = gradients(u, {t})[0];
    return {mean_per_sample(square(by_t - gradients(by_x, {x})[0]))};
  }
};

static_assert(Compiled<Heat, Inputs<f64[2]>>::Training::nodes > 0);
