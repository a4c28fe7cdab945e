// The code of docs/guides/derivatives.md: derivatives of plain functions against closed forms and differences.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <thread>

#include "../documented.hpp"

namespace documented_derivatives_test {

using namespace documented;

/// The derivatives of y [batch, m] by x [batch, n], as [batch, m, n]: a backward pass for each of the m.
constexpr Var jacobian(Var y, Var x) {
  std::vector<Var> rows;
  for (int i = 0; i < y.shape().extent[1]; ++i) rows.push_back(gradients(select(y, 1, i), {x})[0]);
  return stack(rows, 1);
}

struct Banana {  // Rosenbrock's function, its gradient and its Hessian: [batch, 1 + 2 + 4]
  constexpr explicit Banana(Scope) {}
  constexpr Var predict(Var x) const {
    const auto [a, b] = split<2>(x);
    const Var y = square(1.0 - a) + 100.0 * square(b - square(a)), slope = gradients(y, {x})[0];
    return concat({y, slope, flatten(jacobian(slope, x))}, 1);
  }
};
using BananaNet = Compiled<Banana, Inputs<f64[2]>>;

std::array<double, 7> by_hand(double a, double b) {
  const double d = b - a * a, mixed = -400 * a;
  return {(1 - a) * (1 - a) + 100 * d * d, -2 * (1 - a) - 400 * a * d, 200 * d, 2 - 400 * d + 800 * a * a, mixed, mixed, 200};
}

TEST(Derivatives, OfAFunction) {
  const std::array<double, 2> x{0.3, -0.7};
  Inference<BananaNet> banana;  // no parameters, so nothing to load
  std::array<double, 7> all;
  banana(x, all);
  const std::array<double, 7> expected = by_hand(x[0], x[1]);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(all[i], expected[i], 1e-13 * std::abs(expected[i])) << i;
  EXPECT_FALSE((std::is_default_constructible_v<Inference<Compiled<Mlp, Inputs<f32[64], i32>>>>));
  EXPECT_NE(explain_prediction<BananaNet>().find("forward"), std::string::npos);
}

TEST(Derivatives, OfManyPointsInThreads) {
  const std::size_t n = 1000;
  std::vector<double> points(2 * n), all(7 * n);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = std::sin(static_cast<double>(i));
  const Inference<BananaNet> banana(256);  // 256 at a time
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part)
    threads.emplace_back([&, mine = banana, part]() mutable {
      const std::size_t first = part * n / 4, count = n / 4;
      mine(std::span(points).subspan(2 * first, 2 * count), std::span(all).subspan(7 * first, 7 * count));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < n; ++i) {
    const std::array<double, 7> expected = by_hand(points[2 * i], points[2 * i + 1]);
    for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(all[7 * i + k], expected[k], 1e-11) << i << " " << k;
  }
}

template <class F>
constexpr Var wide_jacobian(F f, Var x) {  // of f from [..., n] to [..., m]
  const std::int64_t m = f(x).shape().extent[1], n = x.shape().extent[1];
  const Var copies = broadcast(reshape(x, Shape::per_sample({1, n})), Shape::per_sample({m, n})), y = f(copies);
  return vjp(y, {copies}, convert(iota(y, 1) == iota(y, 2), y.dtype()))[0];
}

struct Chain {  // Rosenbrock's function of eight, whose gradient is a map from eight to eight: both ways to its Hessian
  constexpr explicit Chain(Scope) {}
  constexpr Var slope(Var x) const {
    const Var a = slice(x, -1, 0, 7), b = slice(x, -1, 1, 7);
    return gradients(sum(square(1.0 - a) + 100.0 * square(b - square(a)), {-1}), {x})[0];
  }
  constexpr Var predict(Var x) const {
    return concat({jacobian(slope(x), x), wide_jacobian([this](Var at) { return slope(at); }, x)}, 1);
  }
};

TEST(Derivatives, OfAllRowsAtOnce) {
  Inference<Compiled<Chain, Inputs<f64[8]>>> chain;
  std::array<double, 8> x;
  for (std::size_t i = 0; i < 8; ++i) x[i] = std::cos(static_cast<double>(i));
  std::array<double, 2 * 64> both;
  chain(x, both);
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      const double own = (i < 7 ? 2 - 400 * (x[i + 1] - 3 * x[i] * x[i]) : 0) + (i > 0 ? 200 : 0);
      const double expected = i == j ? own : i + 1 == j ? -400 * x[i] : j + 1 == i ? -400 * x[j] : 0;
      EXPECT_NEAR(both[8 * i + j], expected, 1e-12 * (1 + std::abs(expected)));
      EXPECT_EQ(both[8 * i + j], both[64 + 8 * i + j]);
    }
}

struct Curve {  // y = a e^(-bt) + c at measured points: residuals, and their derivatives by a, b and c
  Parameter abc;
  constexpr explicit Curve(Scope s) : abc(s.parameter("abc", Shape{3}, init::constant(1))) {}
  constexpr Var predict(Var t, Var y) const {  // [batch, 1 + 3]
    const Var each = broadcast(abc.on(t), Shape::per_sample({3}));
    const Var rest = select(each, 1, 0) * exp(-select(each, 1, 1) * t) + select(each, 1, 2) - y;
    return concat({reshape(rest, Shape::per_sample({1})), gradients(rest, {each})[0]}, 1);
  }
  constexpr Loss loss(Var t, Var y) const { return {square(select(predict(t, y), 1, 0))}; }
};
using CurveNet = Compiled<Curve, Inputs<f64, f64>>;

/// Returns the x of a·x = b, for a symmetric and positive definite a.
template <std::size_t n>
std::array<double, n> solve(std::array<double, n * n> a, std::array<double, n> b) {
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= a[i * n + j] * b[j];
    b[i] /= a[i * n + i];
  }
  return b;
}

/// Levenberg-Marquardt from p on: returns the parameters with the least sum of squared residuals.
template <class Net, std::size_t n>
std::array<double, n> least_squares(std::array<double, n> p, auto... data) {
  Inference<Net> model(p, 64);
  std::vector<double> rows(std::max({data.size()...}) * (1 + n));  // here each input has one number for each residual
  double least = std::numeric_limits<double>::infinity(), damping = 1e-3;
  std::array<double, n * n> a{}, damped;
  std::array<double, n> b{}, next = p;
  while (damping < 1e12) {
    model.set_parameters(next);
    model(data..., rows);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); i += 1 + n) sum += rows[i] * rows[i];
    damping = std::max(1e-12, damping * (sum < least ? 0.1 : 10));
    if (sum < least) {
      least = sum, p = next, a = {}, b = {};
      for (const double* row = rows.data(); row < rows.data() + rows.size(); row += 1 + n)
        for (std::size_t i = 0; i < n; ++i) {
          b[i] += row[0] * row[1 + i];
          for (std::size_t j = 0; j < n; ++j) a[i * n + j] += row[1 + i] * row[1 + j];
        }
    }
    damped = a;
    for (std::size_t i = 0; i < n; ++i) damped[i * n + i] *= 1 + damping;
    const std::array<double, n> step = solve(damped, b);
    for (std::size_t i = 0; i < n; ++i) next[i] = p[i] - step[i];
  }
  return p;
}

TEST(Derivatives, FitACurve) {
  std::vector<double> t, y;
  for (int i = 0; i < 40; ++i) t.push_back(0.1 * i), y.push_back(2.5 * std::exp(-0.13 * i) + 0.5 + 0.01 * std::sin(37.0 * i));
  const std::array<double, 3> fitted = least_squares<CurveNet>(std::array{1.0, 1.0, 0.0}, std::span<const double>(t),
                                                               std::span<const double>(y));
  std::array<double, 3> slope{};
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double decay = std::exp(-fitted[1] * t[i]), rest = fitted[0] * decay + fitted[2] - y[i];
    slope[0] += rest * decay, slope[1] -= rest * fitted[0] * t[i] * decay, slope[2] += rest;
  }
  for (const double s : slope) EXPECT_NEAR(s, 0, 1e-11);  // the optimum

  Session session(CurveNet{}, Lbfgs{.least_curvature = 0}, {.global_batch = 40});
  for (int step = 0; step < 40; ++step) session.accumulate(t, y);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(session.parameters().values()[i], fitted[i], 1e-10);
}

struct Predators {  // a Runge-Kutta step of x' = ax - bxy, y' = dxy - cy, for z of x, y, a, b, c and d
  static constexpr double h = 0.05;
  constexpr explicit Predators(Scope) {}
  constexpr Var rate(Var z) const {
    const auto [x, y, a, b, c, d] = split<6>(z);
    return pad(concat({a * x - b * x * y, d * x * y - c * y}, 1), 1, 0, 4, 0);  // the other four stay as they are
  }
  constexpr Var predict(Var z, Var so_far) const {  // [batch, 6 + 36]: z, and its derivatives by what it was at first
    const Var k1 = rate(z), k2 = rate(z + 0.5 * h * k1), k3 = rate(z + 0.5 * h * k2), k4 = rate(z + h * k3);
    const Var next = z + h / 6 * (k1 + 2.0 * (k2 + k3) + k4);
    return concat({next, flatten(matmul(jacobian(next, z), so_far))}, 1);
  }
};
using PredatorsNet = Compiled<Predators, Inputs<f64[6], f64[6][6]>>;

/// Returns x and y after some steps, computed with more digits.
std::array<long double, 2> after(int steps, std::array<long double, 6> z) {
  const auto rate = [&](long double x, long double y) {
    return std::array{z[2] * x - z[3] * x * y, z[5] * x * y - z[4] * y};
  };
  const long double h = Predators::h;
  for (int i = 0; i < steps; ++i) {
    const auto k1 = rate(z[0], z[1]), k2 = rate(z[0] + h / 2 * k1[0], z[1] + h / 2 * k1[1]);
    const auto k3 = rate(z[0] + h / 2 * k2[0], z[1] + h / 2 * k2[1]), k4 = rate(z[0] + h * k3[0], z[1] + h * k3[1]);
    for (std::size_t k = 0; k < 2; ++k) z[k] += h / 6 * (k1[k] + 2 * (k2[k] + k3[k]) + k4[k]);
  }
  return {z[0], z[1]};
}

TEST(Derivatives, OfASimulation) {
  const int steps = 200;
  const std::array<double, 6> start{1.2, 0.8, 1.1, 0.4, 0.9, 0.3};
  Inference<PredatorsNet> step;
  std::array<double, 6> z = start;
  std::array<double, 36> s{};  // by itself: the identity
  for (std::size_t i = 0; i < 6; ++i) s[7 * i] = 1;
  std::array<double, 42> both;
  for (int i = 0; i < steps; ++i) {
    step(z, s, both);
    std::copy_n(both.begin(), 6, z.begin());
    std::copy_n(both.begin() + 6, 36, s.begin());
  }
  for (std::size_t j = 0; j < 6; ++j) {
    std::array<long double, 6> more, less;
    std::ranges::copy(start, more.begin());
    less = more;
    more[j] += 1e-7L, less[j] -= 1e-7L;
    const auto plus = after(steps, more), minus = after(steps, less);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_NEAR(s[6 * i + j], static_cast<double>((plus[i] - minus[i]) / 2e-7L), 1e-9) << i << " " << j;
  }
}

TEST(Derivatives, OnATape) {
  const std::vector<double> points{0.3, -0.7, 1.1, 0.2, -0.4, 0.9};
  EagerTape tape(Device::cpu(), 3);  // three points; no parameters, so none to initialize
  const Var x = tape.input(points, {2}), y = prod(sin(x), {1}), slope = gradients(y, {x})[0];
  const Tensor hessians = value(jacobian(slope, x));  // [3, 2, 2]
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = points[2 * i], b = points[2 * i + 1], own = -std::sin(a) * std::sin(b), mixed = std::cos(a) * std::cos(b);
    const std::array expected{own, mixed, mixed, own};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(hessians.values<double>()[4 * i + k], expected[k], 1e-15);
  }
  const Tensor wide = value(wide_jacobian([](Var at) { return gradients(prod(sin(at), {-1}), {at})[0]; }, x));
  EXPECT_EQ(std::vector(wide.values<double>().begin(), wide.values<double>().end()),
            std::vector(hessians.values<double>().begin(), hessians.values<double>().end()));
}

struct Along {  // the derivative along a direction by how far, and by `jvp`
  constexpr explicit Along(Scope) {}
  constexpr Var predict(Var x, Var v) const {
    const Var far = stop_gradient(constant_like(slice(x, 1, 0, 1), 0)), y = sum(sin(x + far * v), {1}, true);
    return concat({gradients(y, {far})[0], jvp(sum(sin(x), {1}, true), {x}, {v})}, 1);
  }
};

TEST(Derivatives, AlongADirection) {
  Inference<Compiled<Along, Inputs<f64[2], f64[2]>>> along;
  std::array<double, 2> both;
  along(std::array{0.3, 0.5}, std::array{2.0, -1.0}, both);
  for (const double d : both) EXPECT_NEAR(d, 2 * std::cos(0.3) - std::cos(0.5), 1e-15);
}

}  // namespace documented_derivatives_test
