#pragma once
#include <algorithm>
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with a forget gate; gates as in PyTorch): input gate i, forget
/// gate f, candidate g and output gate o of each step are
///   i, f, o = σ(x·W + h·U) by their columns;  g = tanh(x·W + h·U);  c ← f·c + i·g;  h ← o·tanh(c),
/// biases included. Parameters: input/weight [in, 4·width], input/bias, state/weight [width, 4·width], state/bias, columns in
/// the order i, f, g, o.
class Lstm {
 public:
  constexpr Lstm(Scope scope, std::int64_t in, std::int64_t width)
      : input_(scope / "input", in, 4 * width, init::linear_default(width), init::linear_default(width)),
        state_(scope / "state", width, 4 * width, init::linear_default(width)), width_(width) {}

  struct State {
    Var h, c;  ///< [batch, width] each
  };

  /// Returns the states h after each step of x: [batch, steps, in], starting at `state`, or at 0 without it: [batch, width]
  /// each. The inputs of all steps are multiplied in one product. Where `present`, [batch, steps], is 0, the state is carried
  /// over: the last state is the one at the sequence's end, to the bits of the unpadded sequence. Errors: other axes.
  constexpr std::vector<Var> operator()(Var x, State state = {}, Var present = {}) const {
    return run(x, state, present, false);
  }
  /// The same from the last step of x to the first: the first state, at the first step, is that of the whole sequence.
  constexpr std::vector<Var> reversed(Var x, State state = {}, Var present = {}) const { return run(x, state, present, true); }
  /// Returns the state after one step of x: [batch, in].
  constexpr State step(Var x, State state) const { return gated(input_(x), state); }

 private:
  constexpr std::vector<Var> run(Var x, State state, Var present, bool backward) const {
    if (!detail::check_steps("lstm", x, present)) return detail::no_states(x);
    const Var gates = input_(x);
    if (!gates.valid()) return detail::no_states(x);
    std::vector<Var> states;
    const auto zero = [&] { return constant_like(slice(select(gates, 1, 0), 1, 0, width_), 0); };
    if (!state.h.valid()) state.h = zero();
    if (!state.c.valid()) state.c = zero();
    const int steps = static_cast<int>(x.shape().extent[1]);
    for (int s = 0; s < steps; ++s) {
      const int t = backward ? steps - 1 - s : s;
      const auto [h, c] = gated(select(gates, 1, t), state);
      state = {detail::where_present(present, t, h, state.h), detail::where_present(present, t, c, state.c)};
      states.push_back(state.h);
    }
    if (backward) std::reverse(states.begin(), states.end());
    return states;
  }
  constexpr State gated(Var gates, State state) const {
    const auto [i, f, g, o] = split<4>(gates + state_(state.h));
    const Var kept = sigmoid(f) * state.c;  // one operand per statement: recorded in this order by every compiler
    const Var in = sigmoid(i);
    const Var c = kept + in * tanh(g);
    const Var out = sigmoid(o);
    return {out * tanh(c), c};
  }

  Linear input_, state_;
  std::int64_t width_;
};

}  // namespace gradual::nn
