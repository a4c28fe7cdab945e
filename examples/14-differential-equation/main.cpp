// Solves u'' = f on (0, 1), where u is 0 at both ends, with a net whose second derivative is trained to equal f at 64 points:
// in float, and in double, which improves further where the precision of float ends.
// Usage: 14-differential-equation
#include <gradual/gradual.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

using namespace gradual;

namespace {

struct Solution {
  nn::Linear first, second, output;
  constexpr explicit Solution(Scope s)
      : first(s / "first", 1, 16), second(s / "second", 16, 16), output(s / "output", 16, 1) {}

  constexpr Var predict(Var x) const { return x * (1.0 - x) * output(tanh(second(tanh(first(x))))); }
  constexpr Loss loss(Var x, Var force) const {
    const Var slope = gradients(predict(x), {x})[0], curvature = gradients(slope, {x})[0];
    return mse(curvature, force);
  }
};

constexpr int points = 64;
double exact(double x) { return std::sin(std::numbers::pi * x); }
double curvature_of_exact(double x) { return -std::numbers::pi * std::numbers::pi * exact(x); }

/// Returns the midpoints of `count` equal parts of (0, 1).
template <class Real>
std::vector<Real> middles(int count) {
  std::vector<Real> x;
  for (int i = 0; i < count; ++i) x.push_back((static_cast<Real>(i) + Real(0.5)) / static_cast<Real>(count));
  return x;
}

template <class Real>
using Net = Compiled<Solution, Inputs<Real[1], Real[1]>>;  // computes in the type of its inputs

/// Trains in Real, prints losses and largest errors, and returns the last error. `least_curvature`: below it, curvature is
/// taken for rounding error.
template <class Real>
double solve(const char* name, double least_curvature) {
  const std::vector<Real> x = middles<Real>(points);
  std::vector<Real> force;
  for (const Real at : x) force.push_back(static_cast<Real>(curvature_of_exact(static_cast<double>(at))));

  Session nearby(Net<Real>{}, Accumulate{Adam{.learning_rate = schedule::cosine(5e-3, 2000)}}, {.global_batch = points});
  while (nearby.step_count() < 2000) nearby.accumulate(x, force);
  Session session(Net<Real>{}, Accumulate{LbfgsOf<10>{.least_curvature = least_curvature}}, {.global_batch = points});
  session.set_parameters(nearby.parameters());

  Inference<Net<Real>> solution(session.parameters(), 1000);
  const std::vector<Real> where = middles<Real>(1000);
  std::vector<Real> u(where.size());
  double error = 0;
  for (const int steps : {0, 1000, 4000, 16000, 64000}) {
    while (session.step_count() < steps) session.accumulate(x, force);
    solution.set_parameters(session.parameters());
    solution(where, u);
    error = 0;
    for (std::size_t i = 0; i < u.size(); ++i)
      error = std::max(error, std::abs(static_cast<double>(u[i]) - exact(static_cast<double>(where[i]))));
    std::printf("%-8s %6d %12.1e %14.1e\n", name, steps, session.evaluate(x, force).loss(), error);
  }
  return error;
}

}  // namespace

int main() {
  std::printf("u'' = f by a net of %lld parameters at %d points: 2000 steps of Adam, then L-BFGS\n",
              static_cast<long long>(Net<float>::parameter_elements), points);
  std::printf("%-8s %6s %12s %14s\n", "in", "steps", "loss", "largest error");
  solve<float>("float", 1e-14);  // the best for float: 1e-12 stops earlier, 1e-18 diverges
  return solve<double>("double", 1e-30) < 5e-8 ? 0 : 1;
}
