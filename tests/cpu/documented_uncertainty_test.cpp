// The code of docs/guides/uncertainty.md: drawn weights and effects of groups end in the posteriors of conjugate models, bounds
// of a likelihood rise to the exact one, and a flow's densities are those of its Jacobian and go back to what they were of.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

#include "../documented.hpp"

namespace documented_uncertainty_test {

using namespace documented;

/// How far what a net says is from what happens, over ten bins of what it says (Guo et al. 2017): 0 where they are the same.
double calibration_error(std::span<const float> probability, std::span<const float> happened) {
  std::array<double, 10> said{}, seen{};
  for (std::size_t i = 0; i < probability.size(); ++i) {
    const std::size_t bin = std::min<std::size_t>(9, static_cast<std::size_t>(10 * probability[i]));
    said[bin] += probability[i], seen[bin] += happened[i];
  }
  double apart = 0;
  for (std::size_t bin = 0; bin < 10; ++bin) apart += std::abs(said[bin] - seen[bin]);
  return apart / static_cast<double>(probability.size());
}

struct Uncertain {  // a matrix of weights, each with a mean and a deviation
  Parameter mean, log_deviation;
  constexpr Uncertain(Scope s, int in, int out)
      : mean(s.parameter("mean", Shape{in, out}, init::linear_default(in))),
        log_deviation(s.parameter("log_deviation", Shape{in, out}, init::constant(-3))) {}
  constexpr Var on(Var x) const {  // other numbers in each step, the same for all samples of its window
    const Var m = mean.on(x);
    return m + exp(log_deviation.on(x)) * normal_like(m);
  }
  constexpr Var divergence(Var x) const {  // from weights of mean 0 and deviation 1, which they are before any data
    const Var m = mean.on(x), log_s = log_deviation.on(x);
    return 0.5 * sum(square(m) + exp(2.0 * log_s) - 1.0 - 2.0 * log_s, {0, 1});
  }
};

struct Regression {
  static constexpr int samples = 200;  // of the data
  Uncertain weight;
  constexpr explicit Regression(Scope s) : weight(s / "weight", 3, 1) {}
  constexpr Var predict(Var x) const { return select(matmul(x, weight.on(x)), 1, 0); }
  constexpr Loss loss(Var x, Var y) const {  // the noise in y has a deviation of 0.5
    const Var kl = weight.divergence(x);
    return Loss(0.5 * square((y - predict(x)) / 0.5), metric("kl", broadcast(kl, Shape::per_sample({}))))
        .plus(kl * (1.0 / samples));
  }
};
using RegressionNet = Compiled<Regression, Inputs<f32[3], f32>>;

struct Schools {  // a result of one of eight groups, whose means are near each other: how near is learned
  static constexpr int groups = 8, samples = 80;
  Parameter mean, log_deviation, common, log_spread, log_noise;
  constexpr explicit Schools(Scope s)
      : mean(s.parameter("mean", Shape{groups, 1}, init::zeros())),
        log_deviation(s.parameter("log_deviation", Shape{groups, 1}, init::constant(-1))),
        common(s.parameter("common", Shape{}, init::zeros())), log_spread(s.parameter("log_spread", Shape{}, init::zeros())),
        log_noise(s.parameter("log_noise", Shape{}, init::zeros())) {}
  constexpr Loss loss(Var group, Var y) const {
    const Var m = mean.on(y), log_s = log_deviation.on(y), log_n = log_noise.on(y), log_t = log_spread.on(y);
    const Var effect = m + exp(log_s) * normal_like(m);  // a group's samples share its draw
    const Var z = (y - select(gather(effect, group), 1, 0)) * exp(-log_n);
    const Var apart = square(m - common.on(y)) + exp(2.0 * log_s);
    return Loss(0.5 * square(z) + log_n)
        .plus(sum(0.5 * apart * exp(-2.0 * log_t) + log_t - log_s - 0.5, {0, 1}) * (1.0 / samples));
  }
};
using SchoolsNet = Compiled<Schools, Inputs<i32, f32>>;

template <int draws>
struct Factors {  // four numbers by two hidden ones: minus a bound of the log likelihood, the closer the more draws
  nn::Linear encoder, decoder;
  Parameter log_deviation, log_noise;
  constexpr explicit Factors(Scope s)
      : encoder(s / "encoder", 4, 2), decoder(s / "decoder", 2, 4),
        log_deviation(s.parameter("log_deviation", Shape{2}, init::zeros())),
        log_noise(s.parameter("log_noise", Shape{}, init::zeros())) {}
  constexpr Loss loss(Var x) const {
    const Var mean = broadcast(reshape(encoder(x), Shape::per_sample({1, 2})), Shape::per_sample({draws, 2}));
    const Var log_s = log_deviation.on(x), log_n = log_noise.on(x), e = normal_like(mean), code = mean + exp(log_s) * e;
    const Var rest = (reshape(x, Shape::per_sample({1, 4})) - decoder(code)) * exp(-log_n);
    const Var likely = -0.5 * sum(square(rest), {2}) - 4.0 * (log_n + 0.9189385332046727);  // log √(2π)
    const Var log_weight = likely + sum(0.5 * square(e) - 0.5 * square(code) + log_s, {2});
    return {log(constant_like(log_n, draws)) - select(logsumexp(log_weight), 1, 0)};
  }
};
template <int draws>
using FactorsNet = Compiled<Factors<draws>, Inputs<f32[4]>>;

struct Coupling {  // moves and stretches one of two numbers, by what the other says (Dinh et al. 2017)
  nn::Linear hidden, output;
  int kept;
  constexpr Coupling(Scope s, int keep) : hidden(s / "hidden", 1, 16), output(s / "output", 16, 2), kept(keep) {}
  constexpr Var forward(Var x, Var& log_determinant) const {
    const Var one = slice(x, 1, kept, 1), other = slice(x, 1, 1 - kept, 1);
    const auto [log_scale, shift] = split<2>(output(tanh(hidden(one))));
    log_determinant += log_scale;
    return both(one, other * exp(log_scale) + shift);
  }
  constexpr Var backward(Var z) const {
    const Var one = slice(z, 1, kept, 1), other = slice(z, 1, 1 - kept, 1);
    const auto [log_scale, shift] = split<2>(output(tanh(hidden(one))));
    return both(one, (other - shift) * exp(-log_scale));
  }
  constexpr Var both(Var one, Var other) const { return kept == 0 ? concat({one, other}, 1) : concat({other, one}, 1); }
};

struct Flow {  // points of a plane as those of a normal distribution, by four couplings
  std::vector<Coupling> layers;
  constexpr explicit Flow(Scope s) {
    for (int i = 0; i < 4; ++i) layers.emplace_back(s / "layers" / i, i % 2);
  }
  constexpr Var forward(Var x, Var& log_determinant) const {
    for (const Coupling& layer : layers) x = layer.forward(x, log_determinant);
    return x;
  }
  constexpr Loss loss(Var x) const {  // minus the log density
    Var log_determinant = constant_like(slice(x, 1, 0, 1), 0);
    const Var z = forward(x, log_determinant);
    return {sum(0.5 * square(z) + 0.9189385332046727, {1}) - select(log_determinant, 1, 0)};
  }
};
using FlowNet = Compiled<Flow, Inputs<f32[2]>>;

struct Points : Flow {  // the same parameters: of normal numbers points
  using Flow::Flow;
  constexpr Var predict(Var z) const {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) z = layer->backward(z);
    return z;
  }
};
using PointsNet = Compiled<Points, Inputs<f32[2]>>;

using Numbers = std::vector<double>;

/// Inverts a positive definite matrix [n, n] in place, by elimination. Returns the logarithm of its determinant.
double invert(Numbers& a, std::size_t n) {
  double log_determinant = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double pivot = a[k * n + k];
    log_determinant += std::log(pivot);
    a[k * n + k] = 1;
    for (std::size_t j = 0; j < n; ++j) a[k * n + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i * n + k];
      a[i * n + k] = 0;
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return log_determinant;
}

constexpr auto rule = Accumulate{Ema{Adam{.learning_rate = schedule::cosine(5e-2, 1500)}, 0.99}};

TEST(DocumentedUncertainty, WhatIsSaidAndWhatHappensAreCompared) {
  std::vector<float> said(100, 0.75f), happened(100);
  for (std::size_t i = 0; i < 100; ++i) happened[i] = i % 4 > 0;
  EXPECT_NEAR(calibration_error(said, happened), 0, 1e-6);
  for (std::size_t i = 0; i < 20; ++i) said[5 * i] = 1;  // surer of a fifth, of which as many happen
  EXPECT_NEAR(calibration_error(said, happened), 0.2 * 0.25, 1e-6);
}

TEST(DocumentedUncertainty, DrawnWeightsEndInThePosteriorOfALinearModel) {
  constexpr std::size_t n = 3, samples = 200;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x, y;
  Numbers precision{1, 0, 0, 0, 1, 0, 0, 0, 1}, moment(n);  // exact: of the weights before any data, and 4xxᵀ of each sample
  for (std::size_t i = 0; i < samples; ++i) {
    float sum = 0.5f * normal(random);
    for (std::size_t d = 0; d < n; ++d) {
      x.push_back(normal(random) + (d > 0 ? 0.5f * x[i * n] : 0));
      sum += x.back() * (float(d) - 0.7f);
    }
    y.push_back(sum);
    for (std::size_t d = 0; d < n; ++d) {
      moment[d] += 4 * double{x[i * n + d]} * sum;
      for (std::size_t e = 0; e < n; ++e) precision[d * n + e] += 4 * double{x[i * n + d]} * x[i * n + e];
    }
  }
  Numbers covariance = precision;
  invert(covariance, n);
  const Dataset data(x, y);
  Trainer trainer(RegressionNet{}, rule, {.global_batch = samples, .micro_batch = 64, .seed = 1});
  trainer.fit(data, {.epochs = 1500, .progress = Progress::never});
  const auto means = trainer.session().averaged_parameters()["weight/mean"].values,
             deviations = trainer.session().averaged_parameters()["weight/log_deviation"].values;
  double kl = 0;
  for (std::size_t d = 0; d < n; ++d) {
    double mean = 0;
    for (std::size_t e = 0; e < n; ++e) mean += covariance[d * n + e] * moment[e];
    EXPECT_NEAR(means[d], mean, 0.01) << "a third of the deviation";
    // Independent weights are narrower than the exact posterior: their variances are those of one if the others are known.
    EXPECT_NEAR(std::exp(deviations[d]) * std::sqrt(precision[d * n + d]), 1, 0.06);
    const double m = trainer.parameters()["weight/mean"].values[d], s = trainer.parameters()["weight/log_deviation"].values[d];
    kl += 0.5 * (m * m + std::exp(2 * s) - 1 - 2 * s);
  }
  EXPECT_NEAR(trainer.evaluate(data).metric(RegressionNet::metric("kl")), kl, 1e-4);

  Inference<Drawing<RegressionNet>> draw(trainer.parameters(), 2);
  const std::vector<float> at{1, 0, 0, 3, 0, 0};
  std::vector<float> predicted(2);
  double first = 0, second = 0;
  for (std::uint64_t round = 0; round < 1000; ++round) {
    draw({.seed = 1, .round = round}, at, predicted);
    EXPECT_NEAR(predicted[1], 3 * predicted[0], 1e-4) << "one weight for all samples of a round";
    const double apart = double{predicted[0]} - trainer.parameters()["weight/mean"].values[0];
    first += apart / 1000, second += apart * apart / 1000;
  }
  EXPECT_NEAR(first, 0, 0.005);
  EXPECT_NEAR(std::sqrt(second * precision[0]), 1, 0.1);
}

TEST(DocumentedUncertainty, EffectsOfGroupsEndInTheirPosterior) {
  constexpr std::size_t groups = Schools::groups, samples = Schools::samples;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> centers(groups), y;
  std::vector<std::int32_t> group;
  for (float& center : centers) center = 2 + 0.6f * normal(random);
  for (std::size_t i = 0; i < samples; ++i) {
    group.push_back(static_cast<std::int32_t>(i % groups));
    y.push_back(centers[i % groups] + 0.5f * normal(random));
  }
  Trainer trainer(SchoolsNet{}, rule, {.global_batch = samples, .micro_batch = 30, .seed = 1});
  trainer.fit(Dataset(group, y), {.epochs = 1500, .progress = Progress::never});
  const auto learned = trainer.session().averaged_parameters();
  const double noise = std::exp(learned["log_noise"].values[0]), spread = std::exp(learned["log_spread"].values[0]),
               common = learned["common"].values[0];
  EXPECT_NEAR(noise, 0.5, 0.1);
  const double precision = samples / groups / (noise * noise) + 1 / (spread * spread);
  for (std::size_t j = 0; j < groups; ++j) {
    double sum = common / (spread * spread);
    for (std::size_t i = j; i < samples; i += groups) sum += y[i] / (noise * noise);
    EXPECT_NEAR(learned["mean"].values[j], sum / precision, 0.02);
    EXPECT_NEAR(std::exp(learned["log_deviation"].values[j]) * std::sqrt(precision), 1, 0.1);
  }
}

TEST(DocumentedUncertainty, BoundsOfALikelihoodRiseToTheExactOne) {
  constexpr std::size_t n = 4, samples = 500;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x;
  for (std::size_t i = 0; i < samples; ++i) {
    const float a = normal(random), b = normal(random);
    for (std::size_t d = 0; d < n; ++d)
      x.push_back(2 * std::cos(1 + float(d)) * a + std::sin(2 * float(d)) * b + 0.3f * normal(random));
  }
  const auto data = Dataset<f32>::of(samples, x);
  Trainer trainer(FactorsNet<1>{}, Adam{.learning_rate = 1e-2}, {.global_batch = 100, .seed = 1, .evaluate_drawing = true});
  trainer.fit(data, {.epochs = 200, .progress = Progress::never});
  Session closer(FactorsNet<64>{}, Sgd{}, {.global_batch = 500, .evaluate_drawing = true});
  closer.set_parameters(trainer.parameters().values());
  const double bound = -trainer.evaluate(data).loss(), closer_bound = -closer.evaluate(x).loss();

  const auto decoder = trainer.parameters()["decoder/weight"].values, shift = trainer.parameters()["decoder/bias"].values;
  const double noise = std::exp(trainer.parameters()["log_noise"].values[0]);
  Numbers inverse(n * n);  // of x's covariance, by which its density is known
  for (std::size_t d = 0; d < n; ++d)
    for (std::size_t e = 0; e < n; ++e)
      inverse[d * n + e] = double{decoder[d]} * decoder[e] + double{decoder[n + d]} * decoder[n + e] + (d == e) * noise * noise;
  double exact = -0.5 * (n * std::log(2 * std::numbers::pi) + invert(inverse, n));
  for (std::size_t i = 0; i < samples; ++i)
    for (std::size_t d = 0; d < n; ++d)
      for (std::size_t e = 0; e < n; ++e)
        exact -= 0.5 / samples * (double{x[i * n + d]} - shift[d]) * inverse[d * n + e] * (double{x[i * n + e]} - shift[e]);
  EXPECT_NEAR(exact, -4.4721, 5e-4);
  EXPECT_NEAR(closer_bound, -4.4729, 5e-4);
  EXPECT_NEAR(bound, -4.4805, 5e-4);
}

TEST(DocumentedUncertainty, DensitiesOfAFlowAreThoseOfItsJacobian) {
  constexpr std::size_t samples = 1000;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x;
  for (std::size_t i = 0; i < samples; ++i) {
    const float a = normal(random);
    x.push_back(a), x.push_back(a * a + 0.3f * normal(random));  // whose entropy is 1/2 log((2πe)² · 0.09) = 1.634
  }
  const auto data = Dataset<f32>::of(samples, x);
  Trainer trainer(FlowNet{}, Adam{.learning_rate = schedule::cosine(2e-2, 600)}, {.global_batch = 100, .seed = 1});
  trainer.fit(data, {.epochs = 60, .progress = Progress::never});
  EXPECT_NEAR(trainer.evaluate(data).loss(), 1.634, 0.1);
  const std::vector<float> losses = trainer.losses(data);
  Parameters parameters(Device::cpu());
  const Flow flow(parameters.root());
  parameters.initialize(0);
  std::ranges::copy(trainer.parameters().values(), parameters.values().begin());
  EagerTape tape(parameters, samples);
  const Var in = tape.input(x, {2});
  Var log_determinant = constant_like(slice(in, 1, 0, 1), 0);
  const Var out = flow.forward(in, log_determinant);
  const Tensor of_first = value(gradients(slice(out, 1, 0, 1), {in})[0]),
               of_second = value(gradients(slice(out, 1, 1, 1), {in})[0]);
  const auto z = value(out).values<float>(), up = of_first.values<float>(), down = of_second.values<float>();
  for (std::size_t i = 0; i < 2 * samples; i += 2) {
    const double squares = double{z[i]} * z[i] + double{z[i + 1]} * z[i + 1],
                 determinant = double{up[i]} * down[i + 1] - double{up[i + 1]} * down[i];
    EXPECT_NEAR(losses[i / 2], 0.5 * squares + std::log(2 * std::numbers::pi) - std::log(determinant), 1e-3);
  }
  Inference<PointsNet> points(trainer.parameters(), samples);
  std::vector<float> again(2 * samples);
  points(z, again);
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_NEAR(again[i], x[i], 1e-3);
}

}  // namespace documented_uncertainty_test
