// The models of the guide to writing them: what stands there is compiled here, and does what is said of it.
#include <gtest/gtest.h>

#include <filesystem>

#include "../initial_parameters.hpp"
#include "../models.hpp"

namespace written_models_test {

using namespace models;

// guide: begin
struct Tower {  // layers in a loop; they are named "layers/0/weight" and so on
  std::vector<nn::Linear> layers;
  constexpr explicit Tower(Scope s) {
    for (int i = 0; i < 3; ++i) layers.emplace_back(s / "layers" / i, i == 0 ? 2 : 8, i == 2 ? 1 : 8);
  }
  constexpr Var predict(Var x) const {
    for (std::size_t i = 0; i < layers.size(); ++i) x = i == 0 ? layers[i](x) : layers[i](tanh(x));
    return x;
  }
  constexpr Loss loss(Var x, Var y) const {
    const Var weight = layers[0].weight().on(x);
    return Loss(mse(predict(x), y)).plus(1e-4 * sum(weight * weight, {0, 1}));  // a penalty, which enters each window once
  }
};

struct Poisson {  // u_xx + u_yy = f: derivatives by the inputs
  Tower u;
  constexpr explicit Poisson(Scope s) : u(s / "u") {}
  constexpr Loss loss(Var x, Var f) const {
    const Var slope = gradients(u.predict(x), {x})[0];  // u_x and u_y
    Var rest = -f;
    for (int i = 0; i < 2; ++i) rest += slice(gradients(slice(slope, 1, i, 1), {x})[0], 1, i, 1);
    return {mean_per_sample(square(rest))};
  }
};

struct Gaussian {  // mean and logarithm of the variance, as two slices
  nn::Linear output;
  constexpr explicit Gaussian(Scope s) : output(s / "output", 2, 2) {}
  constexpr Loss loss(Var x, Var y, Var weight) const {
    const auto [mean, log_variance] = split<2>(output(x));
    const Var likelihood = 0.5 * (log_variance + square(y - mean) * exp(-log_variance));
    return Loss(sum(likelihood, {1})).weighted_by(weight);
  }
};

struct Choice {  // the value of the action that was taken: action is an i32 for each sample, each row of values has four
  nn::Linear values;
  constexpr explicit Choice(Scope s) : values(s / "values", 2, 4) {}
  constexpr Var predict(Var state) const { return values(state); }
  constexpr Loss loss(Var state, Var action, Var target) const {
    return {square(pick(predict(state), action) - target)};
  }
};

struct Motion {  // of a machine: its six numbers a tick later, by themselves and two controls, and the slopes of that
  nn::Linear hidden, output;
  constexpr explicit Motion(Scope s) : hidden(s / "hidden", 8, 24), output(s / "output", 24, 6) {}
  constexpr Var next(Var x) const { return slice(x, -1, 0, 6) + output(tanh(hidden(x))); }
  constexpr Var predict(Var x) const {  // [batch, 6 + 6 * 8]: the next, and the Jacobian, whose rows are those of copies of x
    const Var copies = broadcast(reshape(x, Shape::per_sample({1, 8})), Shape::per_sample({6, 8})), y = next(copies);
    const Var rows = vjp(y, {copies}, iota(y, 1) == iota(y, 2))[0];
    return concat({select(y, 1, 0), flatten(rows)}, 1);
  }
  constexpr Loss loss(Var x, Var after) const { return {mse(next(x), after)}; }
};

struct Valley {  // no data at all: one sample whose value is not used
  Parameter at;
  constexpr explicit Valley(Scope s) : at(s.parameter("at", Shape{2}, init::constant(0))) {}
  constexpr Loss loss(Var x) const {
    const Var x0 = select(at.on(x), 0, 0), x1 = select(at.on(x), 0, 1);
    return {0.0 * x + square(1.0 - x0) + 100.0 * square(x1 - square(x0))};
  }
};
// guide: end

TEST(WrittenModels, StandInTheGuide) {
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../..";
  const std::string source = read_file(__FILE__), guide = read_file((root / "docs/guides/write-a-model.md").string());
  const std::size_t begin = source.find("begin\n") + 6, end = source.find("// guide: end");
  EXPECT_NE(guide.find(source.substr(begin, end - begin)), std::string::npos);
}

/// The losses of the first and the last of `windows` windows of 60 samples.
template <class Net, class... Span>
std::pair<double, double> learned(int windows, const Span&... data) {
  Session session(Net{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 60, .micro_batch = 20, .seed = 1});
  session.accumulate(data...);
  const double first = session.last_window().loss();
  for (int i = 1; i < windows; ++i) session.accumulate(data...);
  return {first, session.last_window().loss()};
}

TEST(WrittenModels, Learn) {
  const auto x = numbers(120), y = numbers(60, 2);
  const std::vector<float> ones(60, 1);
  const auto expect_less = [](std::pair<double, double> losses) { EXPECT_LT(losses.second, losses.first); };
  expect_less(learned<Compiled<Tower, Inputs<f32[2], f32[1]>>>(50, x, y));
  expect_less(learned<Compiled<Poisson, Inputs<f32[2], f32[1]>>>(50, x, y));
  expect_less(learned<Compiled<Gaussian, Inputs<f32[2], f32[1], f32>>>(50, x, y, ones));
  expect_less(learned<Compiled<Choice, Inputs<f32[2], i32, f32>>>(50, x, labels(60, 4), y));
  EXPECT_EQ((Compiled<Tower, Inputs<f32[2], f32[1]>>::parameter(4).name.view()), "layers/2/weight");
}

TEST(WrittenModels, SumCurvaturesAlongEachAxis) {
  ParametersIn<double> parameters(Device::cpu());
  const Poisson net(parameters.root());
  parameters.initialize(1);
  const std::vector<double> x = {0.3, -0.8, -1.1, 0.4}, f = {0.2, -0.7};
  EagerTape tape(parameters, 2);
  const Var in = tape.input(x, {2}), out = tape.input(f, {1});
  const Tensor losses = value(net.loss(in, out).value);
  const auto u = [&](double a, double b) {
    EagerTape at(parameters);
    return value(net.u.predict(at.input(std::vector{a, b}, {2}))).item();
  };
  for (std::size_t i = 0; i < 2; ++i) {
    const double a = x[2 * i], b = x[2 * i + 1], h = 1e-3;
    const double curvature = (u(a + h, b) + u(a - h, b) + u(a, b + h) + u(a, b - h) - 4 * u(a, b)) / (h * h);
    EXPECT_NEAR(losses[static_cast<std::int64_t>(i)], (curvature - f[i]) * (curvature - f[i]), 1e-6);
  }
}

struct RowByRow : Motion {
  using Motion::Motion;
  constexpr Var predict(Var x) const {
    const Var y = next(x);
    std::vector<Var> parts{y};
    for (int i = 0; i < 6; ++i) parts.push_back(gradients(select(y, 1, i), {x})[0]);
    return concat(parts, 1);
  }
};

TEST(WrittenModels, GiveTheJacobianThatIsMadeRowByRow) {
  using Net = Compiled<Motion, Inputs<f32[8], f32[6]>>;
  Session session(Net{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 4, .seed = 1});
  const auto x = numbers(4 * 8), after = numbers(4 * 6, 2);
  const double before = session.evaluate(x, after).loss();
  for (int i = 0; i < 20; ++i) session.accumulate(x, after);
  EXPECT_LT(session.evaluate(x, after).loss(), before);
  std::vector<float> expected(4 * 54);
  Inference<Compiled<RowByRow, Inputs<f32[8]>>>(session.parameters(), 4)(x, expected);
  EXPECT_EQ(session.predict(x), expected);
}

TEST(WrittenModels, GiveTheJacobianOfDifferences) {
  using Net = Compiled<Motion, Inputs<f64[8], f64[6]>>;
  Inference<Net> net(initial_parameters<Net>(1), 1);
  const std::vector<double> x = {0.1, -0.2, 0, 0.9, 0.3, -0.1, 0.2, 0.8};
  std::vector<double> here(54), up(54), down(54);
  net(x, here);
  for (std::size_t j = 0; j < 8; ++j) {
    std::vector<double> moved = x;
    moved[j] = x[j] + 1e-5, net(moved, up);
    moved[j] = x[j] - 1e-5, net(moved, down);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(here[6 + i * 8 + j], (up[i] - down[i]) / 2e-5, 1e-9);
  }
}

TEST(WrittenModels, FindTheBottomOfAValley) {
  Session session(Compiled<Valley, Inputs<f32>>{}, Accumulate{Adam{.learning_rate = 2e-2f}}, {.global_batch = 1});
  const std::vector<float> nothing(1);
  for (int i = 0; i < 5000; ++i) session.accumulate(nothing);
  EXPECT_NEAR(session.parameters()["at"].values[0], 1, 1e-2);
  EXPECT_NEAR(session.parameters()["at"].values[1], 1, 1e-2);
}

struct Ops {  // the name that a model's own ops have
  Parameter weight;
  constexpr explicit Ops(Scope s) : weight(s.parameter("weight", Shape{2}, init::zeros())) {}
  constexpr Loss loss(Var x) const { return Loss(sum(square(x - weight), {1})); }
};

TEST(WrittenModels, MayHaveAnyName) {
  Session session(Compiled<Ops, Inputs<f32[2]>>{}, Accumulate{Sgd{.learning_rate = 0.5f}}, {.global_batch = 1});
  EXPECT_EQ(session.accumulate(std::vector<float>{3, 4}), 1);
  EXPECT_EQ(session.parameters()["weight"].values[1], 4);
}

}  // namespace written_models_test
