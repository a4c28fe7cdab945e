#pragma once
#include <gradual/gradual.hpp>

namespace forecasts {

using namespace gradual;

inline constexpr int steps = 12, width = 24;

struct Forecast {
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Forecast(Scope s) : gru(s / "gru", 1, width), output(s / "output", width, 1) {}
  constexpr Var predict(Var x) const { return output(gru(x).back()); }  // the state after the last step
  constexpr Loss loss(Var x, Var next) const { return {mse(predict(x), next)}; }
};
using Net = Compiled<Forecast, Inputs<f32[steps][1], f32[1]>>;

}  // namespace forecasts
