#pragma once
#include <algorithm>
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// A gated recurrent unit (Cho et al. 2014; gates as in PyTorch): reset r, update z and candidate n of each step are
///   r, z = σ(x·Wᵣ + h·Uᵣ), σ(x·W_z + h·U_z);  n = tanh(x·Wₙ + r·(h·Uₙ));  h ← (1 − z)·n + z·h,
/// biases included. Parameters: input/weight [in, 3·width], input/bias, state/weight [width, 3·width], state/bias.
class Gru {
 public:
  constexpr Gru(Scope scope, std::int64_t in, std::int64_t width)
      : input_(scope / "input", in, 3 * width, init::linear_default(width), init::linear_default(width)),
        state_(scope / "state", width, 3 * width, init::linear_default(width)), width_(width) {}

  /// Returns the states h after each step of x: [batch, steps, in], starting at `h`, or at 0 without it: [batch, width] each.
  /// The inputs of all steps are multiplied in one product. Where `present`, [batch, steps], is 0, the state is carried over:
  /// the last state is the one at the sequence's end, to the bits of the unpadded sequence. Errors: other axes.
  constexpr std::vector<Var> operator()(Var x, Var h = {}, Var present = {}) const { return run(x, h, present, false); }
  /// The same from the last step of x to the first: the first state, at the first step, is that of the whole sequence.
  constexpr std::vector<Var> reversed(Var x, Var h = {}, Var present = {}) const { return run(x, h, present, true); }
  /// Returns the state after one step of x: [batch, in], from h: [batch, width].
  constexpr Var step(Var x, Var h) const { return gated(input_(x), h); }

 private:
  constexpr std::vector<Var> run(Var x, Var h, Var present, bool backward) const {
    if (!detail::check_steps("gru", x, present)) return detail::no_states(x);
    const Var gates = input_(x);
    if (!gates.valid()) return detail::no_states(x);
    std::vector<Var> states;
    if (!h.valid()) h = constant_like(slice(select(gates, 1, 0), 1, 0, width_), 0);
    const int steps = static_cast<int>(x.shape().extent[1]);
    for (int s = 0; s < steps; ++s) {
      const int t = backward ? steps - 1 - s : s;
      states.push_back(h = detail::where_present(present, t, gated(select(gates, 1, t), h), h));
    }
    if (backward) std::reverse(states.begin(), states.end());
    return states;
  }
  constexpr Var gated(Var gates, Var h) const {
    const auto [xr, xz, xn] = split<3>(gates);
    const auto [hr, hz, hn] = split<3>(state_(h));
    const Var r = sigmoid(xr + hr);
    const Var z = sigmoid(xz + hz);
    const Var n = tanh(xn + r * hn);
    return (1.0 - z) * n + z * h;
  }

  Linear input_, state_;
  std::int64_t width_;
};

}  // namespace gradual::nn
