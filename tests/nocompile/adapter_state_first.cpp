// expected-error: an adapter's State begins with StateOf<Inner>
#include <gradual/gradual.hpp>

using namespace gradual;

struct Model {
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(x), y)}; }
};

template <class Inner>
struct Smoothed {
  Inner inner;
  struct State {
#if defined(GOOD)
    StateOf<Inner> inner;
    Var smooth;
#else
    Var smooth;
    StateOf<Inner> inner;
#endif
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var smooth = 0.5 * state.smooth + gradient;
    const auto next = apply_rule(inner, parameter, smooth, state.inner, step);
    State result;
    result.inner = next.state;
    result.smooth = smooth;
    return update(next.parameter, result);
  }
};

void train() { Session session(Compiled<Model, Inputs<f32[2], f32[1]>>{}, Accumulate{Smoothed<Adam>{}}, {.global_batch = 8}); }
