#pragma once
#include <gradual/gradual.hpp>

namespace digits {

using namespace gradual;

struct Sizes {
  int in = 64, hidden = 128, out = 10;
};

struct Mlp {
  nn::Linear hidden, output;
  constexpr explicit Mlp(Scope s, Sizes n = {})
      : hidden(s / "hidden", n.in, n.hidden, init::kaiming_uniform(n.in)), output(s / "output", n.hidden, n.out) {}

  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};

using Net = Compiled<Mlp, Inputs<f32[64], i32>>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 5e-3f}};
static_assert(Net::training_memory(optimizer, 32).total() < 256_KiB);

/// An optimizer is an update rule: this one moves by the sign of a smoothed gradient (Lion, Chen et al. 2023, simplified).
struct SignDescent {
  Scalar learning_rate = 1e-3f, momentum = 0.9f;
  struct State {
    Var velocity;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state) const {
    Var velocity = momentum * state.velocity + gradient;
    Var direction = (velocity > 0.0) - (velocity < 0.0);
    return update(parameter - learning_rate * direction, State{velocity});
  }
};

}  // namespace digits
