#pragma once
#include <gradual/gradual.hpp>

namespace regression {

using namespace gradual;

inline constexpr int inputs = 64;  // all columns but the last; a compile-time size, so change it for another table

struct Regression {
  nn::Linear first, second, output;
  constexpr explicit Regression(Scope s)
      : first(s / "first", inputs, 64, init::kaiming_uniform(inputs)),
        second(s / "second", 64, 32, init::kaiming_uniform(64)), output(s / "output", 32, 1) {}
  constexpr Var predict(Var x) const { return output(relu(second(relu(first(x))))); }
  constexpr Loss loss(Var x, Var y) const { return {mse(predict(x), y)}; }
};
using Net = Compiled<Regression, Inputs<f32[inputs], f32[1]>>;

}  // namespace regression
