#pragma once
#include <utility>
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/scope.hpp>

namespace gradual::nn {

/// Two recurrent layers of one kind, `Gru` or `Lstm`, one of which reads the sequence backward (Schuster and Paliwal 1997):
/// `nn::Bidirectional<nn::Gru>(s / "gru", in, width)`. Parameters: forward/... and backward/..., as the layer's.
template <class Layer>
class Bidirectional {
 public:
  constexpr Bidirectional(Scope scope, std::int64_t in, std::int64_t width)
      : forward_(scope / "forward", in, width), backward_(scope / "backward", in, width) {}

  /// Returns, for each step of x, [batch, steps, in], the forward state up to it and the backward state from the end down to
  /// it: [batch, 2·width] each. `present` and errors: as those of the layer; past a sequence's end the backward state is 0.
  constexpr std::vector<Var> operator()(Var x, Var present = {}) const {
    auto [states, behind] = both(x, present);
    for (std::size_t t = 0; t < states.size(); ++t) states[t] = concat({states[t], behind[t]}, 1);
    return states;
  }
  /// Returns the final states of both directions: [batch, 2·width].
  constexpr Var summary(Var x, Var present = {}) const {
    const auto [states, behind] = both(x, present);
    return concat({states.back(), behind.front()}, 1);
  }

 private:
  constexpr std::pair<std::vector<Var>, std::vector<Var>> both(Var x, Var present) const {
    std::vector<Var> states = forward_(x, {}, present);
    return {std::move(states), backward_.reversed(x, {}, present)};
  }

  Layer forward_, backward_;
};

}  // namespace gradual::nn
