#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// ½x(1 + tanh(√(2/π)(x + 0.044715x³))): the approximation of Hendrycks and Gimpel 2016.
constexpr Var gelu(Var x) {
  return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))));
}

}  // namespace gradual
