// What the guide to differential equations shows, beside closed forms and differences.
#include <cmath>
#include <numbers>
#include <vector>

#include <gradual/check/test_splits.hpp>

#include "../documented.hpp"

namespace documented_equations_test {

using namespace documented;
using Doubles = std::vector<double>;

constexpr Var d(Var u, Var x, int i) { return slice(gradients(u, {x})[0], -1, i, 1); }  // of [..., 1] by [..., axes]

constexpr Var laplacian(Var u, Var x) {  // the slope is made once, and differentiated along each axis
  const Var slope = gradients(u, {x})[0];
  Var total = d(slice(slope, -1, 0, 1), x, 0);
  for (int i = 1; i < x.shape().extent[x.shape().rank - 1]; ++i) total += d(slice(slope, -1, i, 1), x, i);
  return total;
}

struct Heat {  // u_t = u_xx: kind is 0 inside, 1 where u is known and 2 where u_x is
  nn::Linear first, second, output;
  constexpr explicit Heat(Scope s)
      : first(s / "first", 2, 12), second(s / "second", 12, 12), output(s / "output", 12, 1) {}
  constexpr Var predict(Var x) const {  // [batch, 4]: u, u_x, u_t, u_xx
    const Var u = output(tanh(second(tanh(first(x))))), slope = gradients(u, {x})[0];
    return concat({u, slope, d(slice(slope, 1, 0, 1), x, 0)}, 1);
  }
  constexpr Loss loss(Var x, Var kind, Var known) const {
    const Var out = predict(x), inside = square(select(out, 1, 2) - select(out, 1, 3));
    const Var edge = square(where(kind == 1, select(out, 1, 0), select(out, 1, 1)) - known);
    return Loss(where(kind == 0, inside, 10.0 * edge), metric("inside", inside, kind == 0), metric("edge", edge, kind != 0));
  }
};
using HeatNet = Compiled<Heat, Inputs<f64[2], i32, f64>>;

struct Decay {  // u' = -k u, of which u was measured and k is asked for
  nn::Linear hidden, output;
  Parameter log_k;
  constexpr explicit Decay(Scope s)
      : hidden(s / "hidden", 1, 8), output(s / "output", 8, 1), log_k(s.parameter("log_k", Shape{}, init::constant(0))) {}
  constexpr Var predict(Var t) const { return 1.0 + t * output(tanh(hidden(t))); }  // 1 at t = 0, whatever the net
  constexpr Loss loss(Var t, Var measured) const {
    const Var u = predict(t), k = exp(log_k.on(t));
    return {mse(u, measured) + 0.1 * mse(d(u, t, 0), -k * u), metric("k", broadcast(k, Shape::per_sample({})))};
  }
};

struct Lowest {  // λ of -u'' = λu, least of all ∫u'² / ∫u²: the points are one sample, so that what is learned sees all of them
  nn::Linear hidden, output;
  constexpr explicit Lowest(Scope s) : hidden(s / "hidden", 1, 8), output(s / "output", 8, 1) {}
  constexpr Var predict(Var x) const { return x * (1.0 - x) * output(tanh(hidden(x))); }
  constexpr Loss loss(Var x) const {
    const Var u = predict(x);
    return {sum(square(d(u, x, 0)), {1, 2}) / sum(square(u), {1, 2})};
  }
};

struct Energy {  // H(q, p), learned from where motions are a tenth later
  nn::Linear hidden, output;
  constexpr explicit Energy(Scope s) : hidden(s / "hidden", 2, 24), output(s / "output", 24, 1, {.bias = false}) {}
  constexpr Var energy(Var x) const { return output(tanh(hidden(x))); }
  constexpr Var predict(Var x) const {  // q' = H_p, p' = -H_q
    const auto [by_q, by_p] = split<2>(gradients(energy(x), {x})[0]);
    return concat({by_p, -by_q}, 1);
  }
  constexpr Loss loss(Var x, Var after) const {
    const Var a = predict(x), b = predict(x + 0.05 * a), c = predict(x + 0.05 * b), e = predict(x + 0.1 * c);
    return {mse(x + (0.1 / 6) * (a + 2.0 * (b + c) + e), after)};
  }
};

struct Operator {  // of a function, known at 20 places, at many points: a product over 40 numbers of its net and of the points'
  nn::Linear function, function_output, point, point_output;
  constexpr explicit Operator(Scope s)
      : function(s / "function", 20, 40), function_output(s / "function_output", 40, 40), point(s / "point", 1, 40),
        point_output(s / "point_output", 40, 40) {}
  constexpr Var predict(Var f, Var x) const {  // [batch, points, 1]
    const Var numbers = function_output(tanh(function(f)));
    return matmul(point_output(tanh(point(x))), reshape(numbers, Shape::per_sample({40, 1})));
  }
  constexpr Loss loss(Var f, Var x, Var u, Var slope) const {  // values, and slopes too
    const Var got = predict(f, x);
    return {mse(got, u) + 0.1 * mse(d(got, x, 0), slope)};
  }
};

/// Coefficients of u(x + s·direction) in powers of s, from those of layers before it.
using Series = std::vector<Var>;

constexpr Series through(const nn::Linear& layer, const Series& x) {
  Series y{layer(x[0])};
  for (std::size_t k = 1; k < x.size(); ++k) y.push_back(matmul(x[k], layer.weight()));
  return y;
}

constexpr Series through_tanh(const Series& x) {  // y' = (1 - y²) x', power by power
  Series y{tanh(x[0])}, slope{1.0 - square(y[0])};
  for (std::size_t k = 1; k < x.size(); ++k) {
    Var next = x[k] * slope[0], squares = 2.0 * y[0];
    for (std::size_t j = 1; j < k; ++j) next += (static_cast<double>(j) / static_cast<double>(k)) * x[j] * slope[k - j];
    squares = squares * next;
    for (std::size_t j = 1; j < k; ++j) squares += y[j] * y[k - j];
    y.push_back(next);
    slope.push_back(-squares);
  }
  return y;
}

struct Beam {  // u'''' = load, clamped at 0 and at 1
  nn::Linear first, second, output;
  constexpr explicit Beam(Scope s) : first(s / "first", 1, 16), second(s / "second", 16, 16), output(s / "output", 16, 1) {}
  constexpr Series series(Var x) const {
    const Var none = constant_like(x, 0);
    const Series net = through(output, through_tanh(through(second, through_tanh(through(
                           first, {x, constant_like(x, 1), none, none, none})))));
    const Var edge = x * (1.0 - x), slope = 1.0 - 2.0 * x;  // edge² in powers of s
    const Series clamped{edge * edge, 2.0 * edge * slope, square(slope) - 2.0 * edge, -2.0 * slope, constant_like(x, 1)};
    Series u;
    for (std::size_t k = 0; k < 5; ++k) {
      u.push_back(clamped[0] * net[k]);
      for (std::size_t j = 1; j <= k; ++j) u[k] += clamped[j] * net[k - j];
    }
    return u;
  }
  constexpr Var predict(Var x) const { return series(x)[0]; }
  constexpr Loss loss(Var x, Var load) const { return {mse(24.0 * series(x)[4], load)}; }
};

/// Returns what f computes from samples of `width` numbers.
template <class F>
Doubles made(F f, const Doubles& x, std::int64_t width) {
  EagerTape tape(Device::cpu(), std::ssize(x) / width);
  const Tensor got = value(f(tape.input(std::span<const double>(x), {width})));
  const auto numbers = got.values<double>();
  return {numbers.begin(), numbers.end()};
}

TEST(Equations, DerivativesAreThoseOfClosedForms) {
  const Doubles x{0.3, -0.7, 1.1, 0.2, 0.9, -0.4};
  const auto u = [](Var at) {
    const auto [a, b, c] = split<3>(at);
    return a * a * a * sin(b) + exp(a * c);
  };
  // `split` beside the net would be passed by: u is given all of x.
  const Doubles second = made([&](Var at) { return laplacian(u(at), at); }, x, 3);
  const Doubles mixed = made([&](Var at) { return d(d(u(at), at, 0), at, 1); }, x, 3);
  for (std::size_t i = 0; i < 2; ++i) {
    const double a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
    EXPECT_NEAR(second[i], 6 * a * std::sin(b) - a * a * a * std::sin(b) + (a * a + c * c) * std::exp(a * c), 1e-13);
    EXPECT_NEAR(mixed[i], 3 * a * a * std::cos(b), 1e-13);
  }
}

TEST(Equations, HeatFlows) {
  Doubles x, known;
  std::vector<std::int32_t> kind;
  const Doubles drawn = [] {
    const std::vector<float> numbers = models::numbers(600);
    return Doubles(numbers.begin(), numbers.end());
  }();
  for (std::size_t i = 0; i < 300; ++i) {
    const double place = std::abs(std::fmod(drawn[2 * i], 1)), time = 0.2 * std::abs(std::fmod(drawn[2 * i + 1], 1));
    kind.push_back(i < 200 ? 0 : i < 260 ? 1 : 2);
    x.push_back(kind.back() == 2 ? static_cast<double>(i % 2) : place);  // no heat flows through the ends
    x.push_back(kind.back() == 1 ? 0 : time);
    known.push_back(kind.back() == 1 ? std::cos(std::numbers::pi * place) : 0);
  }
  EXPECT_TRUE(test_splits(HeatNet{}, Accumulate{Adam{}}, {{100, 100, 100}, {7, 193, 99, 1}}, x, kind, known).mistakes.empty());
  Session session(HeatNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(2e-2, 300)}}, {.global_batch = 300});
  while (session.step_count() < 300) session.accumulate(x, kind, known);
  const Averages now = session.evaluate(x, kind, known);
  EXPECT_NEAR(now.loss() * 300, now.metric(HeatNet::metric("inside")) * 200 + 10 * now.metric(HeatNet::metric("edge")) * 100,
              1e-12);
  Inference<HeatNet> heat(session.parameters(), 3);
  Doubles out(12);
  for (double place = 0.1; place < 1; place += 0.2) {
    constexpr double step = 1e-4;
    heat(Doubles{place, 0.1, place + step, 0.1, place - step, 0.1}, out);
    EXPECT_NEAR(out[0], std::exp(-std::numbers::pi * std::numbers::pi * 0.1) * std::cos(std::numbers::pi * place), 0.05);
    EXPECT_NEAR(out[1], (out[4] - out[8]) / (2 * step), 1e-6);
    EXPECT_NEAR(out[3], (out[4] - 2 * out[0] + out[8]) / (step * step), 1e-5);
  }
}

TEST(Equations, ACoefficientIsFound) {
  Doubles t, u;
  for (int i = 0; i < 32; ++i) t.push_back((i + 0.5) / 16), u.push_back(std::exp(-0.6 * t.back()));
  const Dataset points(t, u);
  Trainer trainer(Compiled<Decay, Inputs<f64[1], f64[1]>>{}, Accumulate{Adam{.learning_rate = schedule::cosine(2e-2, 800)}},
                  {.global_batch = 32});
  for (int round = 0; round < 8; ++round) {
    const std::vector<double> weights = trainer.losses(points);  // points are drawn by what the equation leaves there
    trainer.fit(points, {.epochs = 100, .draw = weights, .progress = Progress::never});
  }
  EXPECT_NEAR(std::exp(trainer.parameters()["log_k"].values[0]), 0.6, 0.01);
  EXPECT_DOUBLE_EQ(trainer.evaluate(points).metric(trainer.metric("k")), std::exp(trainer.parameters()["log_k"].values[0]));
}

TEST(Equations, TheLowestEigenvalueIsFound) {
  Doubles x;
  for (int i = 0; i < 64; ++i) x.push_back((i + 0.5) / 64);
  Session session(Compiled<Lowest, Inputs<f64[64][1]>>{}, Accumulate{Adam{.learning_rate = schedule::cosine(2e-2, 600)}},
                  {.global_batch = 1});
  while (session.step_count() < 600) session.accumulate(x);
  EXPECT_NEAR(session.evaluate(x).loss(), std::numbers::pi * std::numbers::pi, 0.01);
}

TEST(Equations, ASeriesHasTheDerivativesOfTheNet) {
  ParametersIn<double> parameters(Device::cpu());
  const Beam beam(parameters.root());
  parameters.initialize(3);
  const Doubles x{0.1, 0.35, 0.8};
  EagerTape tape(parameters, 3);
  const Var at = tape.input(std::span<const double>(x), {1});
  const Series series = beam.series(at);
  Var u = square(at * (1.0 - at)) * beam.output(tanh(beam.second(tanh(beam.first(at)))));
  for (std::size_t k = 0; k < 5; ++k) {
    const double factor = std::tgamma(static_cast<double>(k) + 1);
    const Tensor by_series = value(series[k]), by_gradients = value(u);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(factor * by_series.values<double>()[i], by_gradients.values<double>()[i], 1e-12) << k;
    if (k < 4) u = d(u, at, 0);
  }
}

TEST(Equations, MotionsFollowTheEnergy) {
  ParametersIn<double> parameters(Device::cpu());
  const Energy net(parameters.root());
  parameters.initialize(5);
  constexpr double step = 1e-5;
  const Doubles x{0.3, -0.2, 0.3 + step, -0.2, 0.3 - step, -0.2, 0.3, -0.2 + step, 0.3, -0.2 - step};
  EagerTape tape(parameters, 5);
  const Var at = tape.input(std::span<const double>(x), {2});
  const Tensor energies = value(net.energy(at)), field = value(net.predict(at));
  const auto h = energies.values<double>();
  EXPECT_NEAR(field.values<double>()[0], (h[3] - h[4]) / (2 * step), 1e-9);
  EXPECT_NEAR(field.values<double>()[1], -(h[1] - h[2]) / (2 * step), 1e-9);
}

TEST(Equations, OperatorsHaveSlopes) {
  ParametersIn<double> parameters(Device::cpu());
  const Operator net(parameters.root());
  parameters.initialize(7);
  constexpr double step = 1e-5;
  const Doubles f(20, 0.3), x{0.4, 0.4 + step, 0.4 - step};
  EagerTape tape(parameters, 1);
  const Var known = tape.input(std::span<const double>(f), {20}), at = tape.input(std::span<const double>(x), {3, 1});
  const Var u = net.predict(known, at);
  const Tensor values = value(u), slopes = value(d(u, at, 0));
  EXPECT_NEAR(slopes.values<double>()[0], (values.values<double>()[1] - values.values<double>()[2]) / (2 * step), 1e-9);
}

TEST(Equations, AGradientIsTurned) {
  EagerTape tape(Device::cpu(), 1);
  const Doubles x{3};
  const Var w = tape.input(std::span<const double>(x), {1});
  const Var turned = 2.0 * stop_gradient(w) - w;  // w, with minus its gradient
  const Var risen = gradients(square(turned), {w})[0];
  EXPECT_EQ(value(turned).values<double>()[0], 3);
  EXPECT_EQ(value(risen).values<double>()[0], -6);
}

}  // namespace documented_equations_test
