#pragma once
#include <gradual/autodiff/ops/dropout.hpp>

namespace gradual::nn {

/// Dropout as a layer, for Sequential.
struct Dropout {
  double rate = 0.5;
  constexpr Var operator()(Var x) const { return dropout(x, rate); }
};

}  // namespace gradual::nn
