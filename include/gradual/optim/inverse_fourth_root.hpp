#pragma once
#include <gradual/autodiff/ops.hpp>

namespace gradual {

namespace detail {

/// Factors of the steps of `inverse_fourth_root`, each of which maps an eigenvalue m to f(sm), f(x) = x((5 − x)/4)⁴.
struct RootSteps {
  static constexpr double least_damping = 1e-5;
  double factor[16]{};
  int count = 0;
  double least = least_damping / (1 + least_damping);  ///< eigenvalues are from this to 1: at first, and after the steps

  constexpr RootSteps() {
    const auto f = [](double x) { return x * (5 - x) * (5 - x) * (5 - x) * (5 - x) / 256; };
    for (; 1 - least > 1e-5; ++count) {
      double low = 1, high = 3.5;  // a larger factor would make the largest eigenvalues small, and their rounding errors large
      for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (f(middle * least) < f(middle) ? low : high) = middle;
      }
      factor[count] = low;
      least = f(low * least);
    }
  }
};
inline constexpr RootSteps root_steps{};

}  // namespace detail

/// Returns (A + dλI)^(−1/4) of a symmetric matrix A, [n, n], without negative eigenvalues, for a number d ≥ 10⁻⁵; λ is the
/// largest absolute row sum, an upper bound of the eigenvalues. Takes eight steps of the coupled Newton iteration (Guo and
/// Higham 2006; Anil et al. 2020): M ← T⁴M, X ← XT, T = ¼s^¼(5I − sM), from M = (A/λ + dI)/(1 + d), X = I. M tends to I, X to
/// the root of the first M; the factors s > 1, used while eigenvalues may be small, save half of the steps. Error in the
/// spectral norm, relative to the root: below 3·10⁻⁶, and in float below 3·10⁻⁶ + 10⁻⁸/d
/// (tests/host/inverse_roots_test.cpp). If M does not approach I because rounding has made an eigenvalue of A negative and
/// larger than dλ, the root is replaced by (λ(1 + d))^(−1/4)I, which is shorter.
constexpr Var inverse_fourth_root(Var matrix, Var damping) {
  if (!matrix.valid()) return {};
  const Var largest = max(sum(abs(matrix), {1}), {0}), bound = maximum(largest, constant_like(largest, 1e-30));
  const Var diagonal = iota(matrix, 0) == iota(matrix, 1);
  const auto with_diagonal = [diagonal](Var x, auto added) { return where(diagonal, x + added, x); };
  Var m = with_diagonal(matrix / bound, damping) / (1.0 + damping), root, last;
  const detail::RootSteps& steps = detail::root_steps;
  for (int i = 0; i < steps.count; ++i) {
    const double s = steps.factor[i], quarter = math::sqrt(math::sqrt(s)) / 4;
    last = with_diagonal(-quarter * s * m, 5 * quarter);
    root = i == 0 ? last : matmul(root, last);
    if (i + 1 == steps.count) break;
    const Var square = matmul(last, last);
    m = matmul(matmul(square, square), m);
  }
  const Var near = max(sum(abs(with_diagonal(last, -1.0)), {1}), {0}) < 0.1;  // otherwise, also for NaN, it is far
  return where(near, root, where(diagonal, 1.0, constant_like(root, 0))) / sqrt(sqrt(bound * (1.0 + damping)));
}

}  // namespace gradual
