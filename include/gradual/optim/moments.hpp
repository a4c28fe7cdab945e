#pragma once
#include <gradual/optim/update.hpp>

namespace gradual::detail {

/// Returns β·average + (1 − β)·x, an exponential moving average.
constexpr Var moving_average(Var average, Var x, Var beta) { return beta * average + (1.0 - beta) * x; }

/// Returns 1/(1 − βᵗ), the factor that corrects a moving average that began with 0 after t steps.
constexpr Var bias_correction(Var beta, Var step) { return 1.0 / (1.0 - pow(beta, step)); }

}  // namespace gradual::detail
