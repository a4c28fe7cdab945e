// The likelihoods of docs/guides/outcomes.md, in double, beside the formulas that they come from.
#include <cmath>

#include "../documented.hpp"

namespace documented_outcomes_test {

using namespace documented;

constexpr Var poisson(Var log_rate, Var count, Var exposure) {  // so many in so much time, or so many people
  const Var log_mean = log_rate + log(exposure);
  return exp(log_mean) - count * log_mean;
}

constexpr Var negative_binomial(Var log_mean, Var count, Var log_size) {  // of mean m and variance m + m²/size
  const Var size = exp(log_size), odds = log_mean - log_size;
  return lgamma(count + 1.0) - log_rising(size, count) - count * log_sigmoid(odds) - size * log_sigmoid(-odds);
}

constexpr Var zero_inflated(Var cost, Var count, Var score) {  // sigmoid(score): how often a count is 0, whatever it would be
  return cost + softplus(score) - where(count == 0.0, softplus(score + cost), 0.0);  // cost: negative_binomial(...)
}

constexpr Var beta_binomial(Var score, Var count, Var total, Var log_precision) {  // of `total`, with the mean of `beta` below
  const Var precision = exp(log_precision), a = precision * sigmoid(score), b = precision * sigmoid(-score);
  return log_rising(precision, total) - log_rising(a, count) - log_rising(b, total - count);
}

constexpr Var beta(Var score, Var share, Var log_precision) {  // shares between 0 and 1, whose mean is sigmoid(score)
  const Var precision = exp(log_precision), a = precision * sigmoid(score), b = precision * sigmoid(-score);
  return lgamma(a) + lgamma(b) - lgamma(precision) - (a - 1.0) * log(share) - (b - 1.0) * log(1.0 - share);
}

constexpr Var weibull(Var log_scale, Var log_shape, Var time, Var died) {  // died: 1, or 0 where no more than `time` is known
  const Var z = exp(log_shape) * (log(time) - log_scale);
  return exp(z) - died * (z + log_shape - log(time));
}

constexpr Var log_logistic(Var log_scale, Var log_shape, Var time, Var died) {
  const Var z = exp(log_shape) * (log(time) - log_scale);
  return (1.0 + died) * softplus(z) - died * (z + log_shape - log(time));
}

constexpr Var censored(Var mean, Var log_deviation, Var value, Var known) {  // known: 1, or 0 where it is below `value`
  const Var z = (value - mean) * exp(-log_deviation);
  return where(known != 0.0, 0.5 * square(z) + log_deviation, -log_ndtr(z));
}

constexpr Var quantile(Var prediction, Var target, double q) {  // a share of q of the targets is below
  const Var rest = target - prediction;
  return maximum(q * rest, (q - 1.0) * rest);
}

constexpr Var ordered(Var score, Var label, Var thresholds) {  // score [batch, 1], thresholds [classes - 1] of parameters
  const Var first = iota(thresholds, 0) == 0.0;  // the others are logarithms of steps
  const Var cuts = cumsum(where(first, thresholds, exp(thresholds)), 0);
  const Var below = cuts - score;  // label ≤ k has the probability sigmoid(below[k])
  const Var upper = pad(below, 1, 0, 1, 1e4), lower = pad(below, 1, 1, 0, -1e4);
  return -pick(log_sigmoid(upper) + log_sigmoid(-lower) + log(-expm1(lower - upper)), label);
}

constexpr Var cox(Var score, Var time, Var died) {  // [batch, people]: a sample is a cohort; Breslow's for equal times
  const auto n = score.shape().extent[1];
  const Shape whole = Shape::per_sample({n, n}), row = Shape::per_sample({1, n}), column = Shape::per_sample({n, 1});
  const Var at_risk = reshape(time, row) >= reshape(time, column);
  const Var risks = where(at_risk, broadcast(reshape(score, row), whole), -1e30);
  return sum(died * (reshape(logsumexp(risks), Shape::per_sample({n})) - score), {1}) / maximum(sum(died, {1}), 1.0);
}

using Doubles = std::vector<double>;

/// Returns what f computes from these inputs, which have one number for each sample.
template <class F>
Doubles made(F f, const std::vector<Doubles>& inputs) {
  EagerTape tape(Device::cpu(), std::ssize(inputs[0]));
  std::vector<Var> in;
  for (const Doubles& input : inputs) in.push_back(tape.input(std::span<const double>(input)));
  const Tensor got = value(f(in));
  const auto numbers = got.values<double>();
  return {numbers.begin(), numbers.end()};
}

/// Expects f, the loss of a sample, to be minus the logarithm of `likelihood`.
template <class F, class Likelihood>
void expect_likelihood(F f, Likelihood likelihood, const std::vector<Doubles>& inputs) {
  const Doubles got = made(f, inputs);
  for (std::size_t i = 0; i < got.size(); ++i) {
    Doubles at;
    for (const Doubles& input : inputs) at.push_back(input[i]);
    EXPECT_NEAR(got[i], -std::log(likelihood(at)), 1e-14 * (1 + std::abs(got[i]))) << i;
  }
}

const Doubles scores{-1.3, 0, 0.4, 1.1}, spreads{0.5, -0.3, 1.2, 0}, counts{0, 1, 3, 17};
const Doubles times{0.2, 1, 2.5, 0.9}, died{1, 0, 1, 1};

TEST(Outcomes, CountsHaveTheirLikelihoods) {
  expect_likelihood([](auto& in) { return poisson(in[0], in[1], in[2]); },
                    [](auto& at) {  // times count!
                      const double mean = std::exp(at[0]) * at[2];
                      return std::pow(mean, at[1]) * std::exp(-mean);
                    },
                    {scores, counts, times});
  expect_likelihood([](auto& in) { return negative_binomial(in[0], in[1], in[2]); },
                    [](auto& at) {
                      const double mean = std::exp(at[0]), count = at[1], size = std::exp(at[2]);
                      return std::tgamma(count + size) / (std::tgamma(size) * std::tgamma(count + 1)) *
                             std::pow(size / (size + mean), size) * std::pow(mean / (size + mean), count);
                    },
                    {scores, counts, spreads});
}

TEST(Outcomes, ManyZerosHaveTheirLikelihood) {
  expect_likelihood([](auto& in) { return zero_inflated(poisson(in[0], in[1], in[2]), in[1], in[3]); },
                    [](auto& at) {  // times count!, which is 1 of 0
                      const double mean = std::exp(at[0]) * at[2], none = 1 / (1 + std::exp(-at[3]));
                      return (1 - none) * std::pow(mean, at[1]) * std::exp(-mean) + (at[1] == 0 ? none : 0);
                    },
                    {scores, counts, times, spreads});
}

TEST(Outcomes, SharesOfCountsHaveTheirLikelihood) {
  expect_likelihood([](auto& in) { return beta_binomial(in[0], in[1], in[2], in[3]); },
                    [](auto& at) {
                      const double precision = std::exp(at[3]), a = precision / (1 + std::exp(-at[0])), b = precision - a;
                      const auto rising = [](double x, double n) { return std::tgamma(x + n) / std::tgamma(x); };
                      return rising(a, at[1]) * rising(b, at[2] - at[1]) / rising(precision, at[2]);
                    },
                    {scores, counts, {2, 1, 9, 20}, spreads});
}

TEST(Outcomes, CountsThatAreMuchAlikeHaveTheirLikelihoodInFloat) {
  const std::vector<float> log_mean(4, 1.5f), count{1, 5, 50, 1000}, log_size{8, 10, 12, 14};
  const auto made_of = [&](auto number) {
    using T = decltype(number);
    EagerTape tape(Device::cpu(), 4);
    const auto input = [&](const auto& of) { return tape.input(std::vector<T>(of.begin(), of.end())); };
    const Var sizes = input(log_size), cost = negative_binomial(input(log_mean), input(count), sizes);
    const Tensor slopes = value(gradients(cost, {sizes})[0]), costs = value(cost);
    Doubles both;
    for (int i = 0; i < 4; ++i) both.push_back(costs[i]), both.push_back(slopes[i]);
    return both;
  };
  const Doubles in_float = made_of(0.f), exact = made_of(0.);
  for (std::size_t i = 0; i < exact.size(); i += 2) {
    EXPECT_NEAR(in_float[i] / exact[i], 1, 1e-5);
    EXPECT_NEAR(in_float[i + 1] / exact[i + 1], 1, 0.02) << "the slope by log_size, " << exact[i + 1];
  }
}

TEST(Outcomes, SharesHaveTheirLikelihood) {
  expect_likelihood([](auto& in) { return beta(in[0], in[1], in[2]); },
                    [](auto& at) {
                      const double precision = std::exp(at[2]), a = precision / (1 + std::exp(-at[0])), b = precision - a;
                      return std::tgamma(precision) / (std::tgamma(a) * std::tgamma(b)) * std::pow(at[1], a - 1) *
                             std::pow(1 - at[1], b - 1);
                    },
                    {scores, {0.1, 0.5, 0.7, 0.99}, spreads});
}

TEST(Outcomes, TimesHaveTheirLikelihoods) {
  expect_likelihood([](auto& in) { return weibull(in[0], in[1], in[2], in[3]); },
                    [](auto& at) {
                      const double shape = std::exp(at[1]), ratio = at[2] / std::exp(at[0]);
                      return std::pow(shape / at[2] * std::pow(ratio, shape), at[3]) * std::exp(-std::pow(ratio, shape));
                    },
                    {scores, spreads, times, died});
  expect_likelihood([](auto& in) { return log_logistic(in[0], in[1], in[2], in[3]); },
                    [](auto& at) {
                      const double shape = std::exp(at[1]), odds = std::pow(at[2] / std::exp(at[0]), shape);
                      return std::pow(shape / at[2] * odds / (1 + odds), at[3]) / (1 + odds);
                    },
                    {scores, spreads, times, died});
}

TEST(Outcomes, ValuesBelowALimitHaveTheirLikelihood) {
  const auto f = [](auto& in) { return censored(in[0], in[1], in[2], in[3]); };
  const auto likelihood = [](auto& at) {  // times √(2π), where the value is known
    const double deviation = std::exp(at[1]), z = (at[2] - at[0]) / deviation;
    return at[3] == 1 ? std::exp(-z * z / 2) / deviation : std::erfc(-z / std::sqrt(2.0)) / 2;
  };
  expect_likelihood(f, likelihood, {scores, spreads, {0.3, -1, 2, -9}, {1, 0, 1, 0}});
  EXPECT_NEAR(made(f, {{100}, {0}, {0}, {0}})[0], 5005.524208694205, 1e-11) << "where the likelihood itself is 0";
}

TEST(Outcomes, AQuantileIsLeastWhereItsShareIsBelow) {
  const Doubles targets{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const auto total = [&](double guess) {
    const Doubles each = made([](auto& in) { return quantile(in[0], in[1], 0.75); }, {Doubles(10, guess), targets});
    double sum = 0;
    for (const double one : each) sum += one;
    return sum;
  };
  EXPECT_LT(total(8), total(7.5));
  EXPECT_LT(total(8), total(8.5));
  EXPECT_NEAR(total(8), 0.25 * (7 + 6 + 5 + 4 + 3 + 2 + 1) + 0.75 * (1 + 2), 1e-14);
}

TEST(Outcomes, OrderedClassesHaveTheirProbabilities) {
  const Doubles score{-1, 0.5, 2, -40};
  const std::vector<std::int32_t> label{0, 1, 2, 3};
  const double cuts[] = {-0.5, -0.5 + std::exp(0.2), -0.5 + std::exp(0.2) + std::exp(-1.0)};
  EagerTape tape(Device::cpu(), 4);
  const Var in = tape.input(score, {1}), of = tape.input(label);
  const Var thresholds = tape.input(Tensor::from(Device::cpu(), {-0.5, 0.2, -1.0}, {3}));
  const Var loss = ordered(in, of, thresholds);
  const Tensor got = value(loss), slope = value(gradients(loss, {in})[0]);
  const auto below = [&](int k, double at) { return k < 0 ? 0 : k > 2 ? 1 : 1 / (1 + std::exp(at - cuts[k])); };
  for (int i = 0; i < 3; ++i) {
    const std::size_t sample = static_cast<std::size_t>(i);
    EXPECT_NEAR(got[i], -std::log(below(i, score[sample]) - below(i - 1, score[sample])), 1e-14);
  }
  EXPECT_NEAR(got[3], 40 + cuts[2], 1e-13);  // where the difference of the two is 0
  EXPECT_NEAR(slope[3], -1, 1e-13);
}

TEST(Outcomes, ACohortHasItsPartialLikelihood) {
  const Doubles score{0.3, -1, 0.8, 0, 1.7}, time{2, 5, 1, 3, 2}, event{1, 0, 1, 1, 1};
  double expected = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    double risks = 0;
    for (std::size_t k = 0; k < 5; ++k) risks += time[k] >= time[i] ? std::exp(score[k]) : 0;
    expected += event[i] * (std::log(risks) - score[i]) / 4;
  }
  EagerTape tape(Device::cpu(), 1);
  const Var s = tape.input(score, {5}), t = tape.input(time, {5}), d = tape.input(event, {5});
  EXPECT_NEAR(value(cox(s, t, d))[0], expected, 1e-14);
}

TEST(Outcomes, LbfgsEndsInTheOptimum) {
  Doubles dose, count, exposure;
  for (int i = 0; i < 40; ++i) {
    dose.push_back(0.05 * i - 1);
    exposure.push_back(1 + i % 3);
    count.push_back((i * i) % 5 + (i > 20));
  }
  ParametersIn<double> parameters(Device::cpu());
  const Parameter line = parameters.root().parameter("line", Shape{2}, init::zeros());
  Session session(parameters, Lbfgs{.least_curvature = 0}, {.global_batch = 40});
  for (int step = 0; step < 40; ++step)
    session.accumulate(40, [&](EagerTape& tape) {
      const Var x = tape.input(dose), y = tape.input(count), t = tape.input(exposure);
      return Loss(poisson(select(line.on(x), 0, 0) + x * select(line.on(x), 0, 1), y, t));
    });
  double slope[2]{};
  for (std::size_t i = 0; i < 40; ++i) {
    const double rest = exposure[i] * std::exp(parameters.values()[0] + dose[i] * parameters.values()[1]) - count[i];
    slope[0] += rest, slope[1] += rest * dose[i];
  }
  EXPECT_NEAR(slope[0], 0, 1e-12);
  EXPECT_NEAR(slope[1], 0, 1e-12);
}

}  // namespace documented_outcomes_test
