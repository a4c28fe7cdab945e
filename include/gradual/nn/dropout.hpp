#pragma once
#include <gradual/autodiff/ops/dropout.hpp>

namespace gradual::nn {

/// Dropout as a layer, for Sequential.
struct Dropout {
  double rate;
  constexpr explicit Dropout(double dropped = 0.5) : rate(dropped) {}  // clang 14 cannot initialise aggregates in parentheses
  constexpr Var operator()(Var x) const { return dropout(x, rate); }
};

}  // namespace gradual::nn
