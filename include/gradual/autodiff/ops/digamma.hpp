#pragma once
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/multiply.hpp>
#include <gradual/autodiff/ops/strong_mul.hpp>
#include <gradual/core/math/digamma.hpp>

namespace gradual {

namespace detail {
/// Returns ψ′(x) = 1/x² + 1/(x + 1)² + … + 1/(x + 7)² + ψ′(x + 8) for x > 0, the last by its asymptotic series, to 1e-14.
constexpr Var trigamma(Var x) {
  const Var r = 1.0 / (x + 8.0), s = square(r);
  constexpr double coefficients[] = {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6};
  Var series = constant_like(x, 7.0 / 6);
  for (int i = 0; i < 6; ++i) series = coefficients[i] + s * series;
  Var sum = r + s * (0.5 + r * series);
  for (int i = 0; i < 8; ++i) sum = sum + square(1.0 / (x + static_cast<double>(i)));
  return sum;
}
}  // namespace detail

/// ψ(x), the derivative of log Γ(x), for x > 0; ψ(0) = −inf, NaN below 0.
struct Digamma {
  static constexpr const char* name = "digamma";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{.low = 0.3, .high = 12, .ulp = 4};
  static constexpr Special specials[] = {
      {{0}, -special::inf, {special::inf}}, {{-0.0}, -special::inf, {special::inf}},
      {{1}, -0.5772156649015329, {1.6449340668482264}}, {{-1}, special::nan, {special::inf}},
      {{special::inf}, special::inf, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::digamma(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_mul(g, detail::trigamma(x)); }
};

constexpr Var digamma(Var x) { return elementwise<Digamma>(x); }

}  // namespace gradual
