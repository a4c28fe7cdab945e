// Variance, deviation, norm and normalisation: values, derivatives and their singular points (cases 18 and 25).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <gradual/autodiff/reference.hpp>
#include <gradual/check/derivatives.hpp>
#include <gradual/gradual.hpp>

namespace statistics_test {

using namespace gradual;

using Values = std::vector<double>;

struct Result {
  Values value, gradient;
};

/// Returns f of one row of numbers, and the gradient of its sum.
template <class F>
Result run(F f, const Values& at) {
  Tape tape;
  const Var x = input(tape, Shape{static_cast<std::int64_t>(at.size())}, DType::f64);
  const Var y = f(x);
  const auto adjoint = backward(y, constant_like(y, 1), {x.id});
  const Reference<double> reference(tape, 1, {at}, {});
  return {reference[y.id], reference[adjoint[static_cast<std::size_t>(x.id)].id]};
}

TEST(Statistics, Values) {
  EXPECT_DOUBLE_EQ(run([](Var x) { return variance(x, {0}); }, {1e8 + 1, 1e8 + 2, 1e8 + 3}).value[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(run([](Var x) { return variance(x, {0}, true); }, {1, 2, 4}).value[0], 7.0 / 3);
  EXPECT_DOUBLE_EQ(run([](Var x) { return norm(x, {0}); }, {3, 4}).value[0], 5);
  const auto one = run([](Var x) { return variance(x, {0}, true); }, {5});
  EXPECT_TRUE(std::isnan(one.value[0]));
}

TEST(Statistics, SumsSoFar) {
  const auto summed = [](Var x) { return cumsum(x, 0); };
  for (const int places : {0, 1, 2, 3, 7, 8, 9, 100}) {
    Values x, sums, read;  // read: how many of the sums contain each number
    for (int i = 0; i < places; ++i) x.push_back(i % 7 - 2), sums.push_back((i > 0 ? sums.back() : 0) + x.back());
    for (int i = 0; i < places; ++i) read.push_back(places - i);
    const Result got = run(summed, x);
    EXPECT_EQ(got.value, sums) << places;
    EXPECT_EQ(got.gradient, read) << places;
  }
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(run(summed, {1, 2, inf, 3}).value, (Values{1, 3, inf, inf})) << "what comes later changes nothing";
}

TEST(Statistics, DerivativesAreZeroWhereTheRootIs) {
  EXPECT_EQ(run([](Var x) { return norm(x, {0}); }, {0, 0}).gradient, (Values{0, 0}));
  const auto equal = run([](Var x) { return standard_deviation(x, {0}); }, {2, 2, 2});
  EXPECT_EQ(equal.value, Values{0});
  EXPECT_EQ(equal.gradient, (Values{0, 0, 0}));
}

/// Returns the Hessian of the sum of f, times the vector `by`.
template <class F>
Values curvature(F f, const Values& at, const Values& by) {
  Tape tape;
  const Shape shape{static_cast<std::int64_t>(at.size())};
  const Var x = input(tape, shape, DType::f64), v = input(tape, shape, DType::f64), y = f(x);
  const auto adjoint = backward(y, constant_like(y, 1), {x.id});
  const Var slope = sum(adjoint[static_cast<std::size_t>(x.id)] * v, {0});
  const auto second = backward(slope, constant_like(slope, 1), {x.id});
  const Reference<double> reference(tape, 1, {at, by}, {});
  return reference[second[static_cast<std::size_t>(x.id)].id];
}

TEST(Statistics, SecondDerivativesAreZeroWhereTheRootIs) {
  EXPECT_EQ(curvature([](Var x) { return norm(x, {0}); }, {0, 0, 0}, {1, 2, 3}), (Values{0, 0, 0}));
  EXPECT_EQ(curvature([](Var x) { return standard_deviation(x, {0}); }, {2, 2, 2}, {1, 2, 3}), (Values{0, 0, 0}));
  EXPECT_EQ(curvature([](Var x) { return pow(x, 2.0); }, {0, 1}, {1, 1}), (Values{2, 2}));
}

TEST(Statistics, WhatIsFarFromZeroIsCentredExactly) {  // cases 18 and 25
  const auto deviation = [](const std::vector<float>& x) {
    Tape tape;
    const Var in = input(tape, Shape{static_cast<std::int64_t>(x.size())}, DType::f32), y = variance(in, {0});
    return Reference<float>(tape, 1, {x}, {})[y.id][0];
  };
  for (const std::size_t count : {7, 768})
    for (const float value : {1000.3f, 20000.7f, 333333.3f}) EXPECT_EQ(deviation(std::vector<float>(count, value)), 0) << value;
  std::vector<float> spread;
  double mean = 0, expected = 0;
  for (int i = 0; i < 768; ++i) spread.push_back(20000.7f + static_cast<float>(i % 3) / 512);
  for (const float x : spread) mean += static_cast<double>(x) / 768;
  for (const float x : spread) expected += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean) / 768;
  EXPECT_NEAR(deviation(spread), expected, 1e-5 * expected);
}

TEST(Statistics, DerivativesAgreeWithDifferences) {
  const Values at = {0.3, -1.2, 0.8, 2.1};
  for (Var (*f)(Var) : {+[](Var x) { return norm(x, {0}); }, +[](Var x) { return standard_deviation(x, {0}, true); },
                        +[](Var x) { return variance(x, {0}); }}) {
    const Values gradient = run(f, at).gradient;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto moved = [&](double by) {
        Values v = at;
        v[i] += by;
        return run(f, v).value[0];
      };
      const double h = 1e-3;
      const double difference =
          (45 * (moved(h) - moved(-h)) - 9 * (moved(2 * h) - moved(-2 * h)) + moved(3 * h) - moved(-3 * h)) / (60 * h);
      EXPECT_NEAR(gradient[i], difference, 1e-11);
    }
  }
}

/// A norm over rows of three.
template <class Norm>
struct Normalised {
  Norm norm;
  constexpr explicit Normalised(Scope s) : norm(s / "norm", 3) {}
  constexpr Loss loss(Var x) const { return Loss(sum(norm(x) * norm(x), {-1})); }
  constexpr Var predict(Var x) const { return norm(x); }
};

template <class Norm>
std::vector<float> normalised(const std::vector<float>& x, const std::vector<float>& parameters) {
  Inference<Compiled<Normalised<Norm>, Inputs<f32[3]>>> net{std::span<const float>(parameters)};
  std::vector<float> out(x.size());
  net(x, out);
  return out;
}

TEST(LayerNorm, NormalisesRows) {
  const std::vector<float> scaled = {2, 2, 2, 0.5f, 0.25f, -1};
  const auto y = normalised<nn::LayerNorm>({1, 2, 3, 7, 7, 7}, scaled);
  const double rstd = 1 / std::sqrt(2.0 / 3 + 1e-5);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(y[static_cast<std::size_t>(i)], 2 * (i - 1) * rstd + scaled[3 + static_cast<std::size_t>(i)], 1e-6);
  EXPECT_EQ((std::vector<float>(y.begin() + 3, y.end())), (std::vector<float>{0.5f, 0.25f, -1}));  // a constant row
  const auto r = normalised<nn::RmsNorm>({3, 0, 4}, {1, 1, 1});
  EXPECT_NEAR(r[0], 3 / std::sqrt(25.0 / 3 + 1e-5), 1e-6);
}

}  // namespace statistics_test
