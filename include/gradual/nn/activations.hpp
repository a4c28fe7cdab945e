#pragma once
#include <gradual/autodiff/ops.hpp>

namespace gradual::nn {

// Activations as layers, for Sequential.
struct Relu {
  constexpr Var operator()(Var x) const { return relu(x); }
};
struct LeakyRelu {
  double slope;
  constexpr explicit LeakyRelu(double below_zero = 0.01) : slope(below_zero) {}
  constexpr Var operator()(Var x) const { return leaky_relu(x, slope); }
};
struct Elu {
  double alpha;
  constexpr explicit Elu(double lowest = 1) : alpha(lowest) {}
  constexpr Var operator()(Var x) const { return elu(x, alpha); }
};
struct Tanh {
  constexpr Var operator()(Var x) const { return tanh(x); }
};
struct Sigmoid {
  constexpr Var operator()(Var x) const { return sigmoid(x); }
};
struct Gelu {
  constexpr Var operator()(Var x) const { return gelu(x); }
};
struct Silu {
  constexpr Var operator()(Var x) const { return silu(x); }
};
struct Softplus {
  constexpr Var operator()(Var x) const { return softplus(x); }
};

}  // namespace gradual::nn
