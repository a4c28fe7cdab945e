#pragma once
#include <gradual/optim/moments.hpp>

namespace gradual {

/// RAdam (Liu et al. 2020), in PyTorch's formulation: Adam that steps by its mean alone while too little is known of the
/// variance. ρ∞ = 2/(1−β₂) − 1; ρ = ρ∞ − 2tβ₂ᵗ/(1−β₂ᵗ); where ρ > 5, with r = √((ρ−4)(ρ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρ)):
/// p ← p − ηm/(1−β₁ᵗ) · r√(1−β₂ᵗ)/(√v + ε), else p ← p − ηm/(1−β₁ᵗ). `weight_decay` adds λp to the gradient.
struct RAdam {
  using Ranges = RangesByName;
  Scalar learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  struct State {
    Var mean, variance;
  };
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var g = gradient + weight_decay * parameter, b1 = value_of(beta1, step), b2 = value_of(beta2, step);
    const Var mean = detail::moving_average(state.mean, g, b1);
    const Var variance = detail::moving_average(state.variance, g * g, b2);
    const Var exact = convert(b2, DType::f64), count = convert(step, DType::f64);  // ρ is a small difference of large numbers
    const Var decayed = pow(exact, count), most = 2.0 / (1.0 - exact) - 1.0;
    const Var known = most - 2.0 * count * decayed / (1.0 - decayed);
    const Var rectified = (known - 4.0) * (known - 2.0) * most / ((most - 4.0) * (most - 2.0) * known) * (1.0 - decayed);
    const Var rate = learning_rate * detail::bias_correction(b1, step), adapts = convert(known > 5.0, rate.dtype());
    const Var adaptive = rate * convert(sqrt(maximum(rectified, 0.0)), rate.dtype());
    const Var moved = where(adapts, adaptive * mean / (sqrt(variance) + epsilon), rate * mean);
    return update(parameter - moved, State{mean, variance});
  }
};

}  // namespace gradual
