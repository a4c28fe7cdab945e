#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/nn/linear.hpp>

namespace gradual::nn {

/// Long short-term memory (Hochreiter and Schmidhuber 1997, with a forget gate; gates as in PyTorch): input gate i, forget
/// gate f, candidate g and output gate o of each step are
///   i, f, o = σ(x·W + h·U) by their columns;  g = tanh(x·W + h·U);  c ← f·c + i·g;  h ← o·tanh(c),
/// biases included. Parameters: input/weight [in, 4·width], input/bias, state/weight [width, 4·width], state/bias, columns in
/// the order i, f, g, o.
class Lstm {
 public:
  constexpr Lstm(Scope scope, std::int64_t in, std::int64_t width)
      : input_(scope / "input", in, 4 * width, init::linear_default(width)),
        state_(scope / "state", width, 4 * width, init::linear_default(width)), width_(width) {}

  /// The states h after each step of x: [batch, steps, in], from h = c = 0: [batch, width] each. What all steps' inputs
  /// give to the gates is one product.
  constexpr std::vector<Var> operator()(Var x) const {
    std::vector<Var> states;
    if (x.valid() && x.shape().rank != 3) {
      x.tape->fail(Message() << "lstm: needs [batch, steps, in], got " << x.shape() << x.tape->in_layer({x}).view());
      return states;
    }
    const Var gates = input_(x);
    if (!gates.valid()) return states;
    Var h = constant_like(slice(select(gates, 1, 0), 1, 0, width_), 0), c = h;
    for (int t = 0; t < x.shape().extent[1]; ++t) {
      step(select(gates, 1, t), h, c);
      states.push_back(h);
    }
    return states;
  }

 private:
  constexpr void step(Var gates, Var& h, Var& c) const {
    const auto [i, f, g, o] = split<4>(gates + state_(h));
    const Var kept = sigmoid(f) * c;  // one operand per statement: in this order with every compiler
    const Var in = sigmoid(i);
    c = kept + in * tanh(g);
    const Var out = sigmoid(o);
    h = out * tanh(c);
  }

  Linear input_, state_;
  std::int64_t width_;
};

}  // namespace gradual::nn
