// The published vectors of Philox4x32-10 and Threefry2x32-20 (Random123's known answers), and what is made of the bits:
// shuffled orders, weighted draws, and initial parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <gradual/autodiff/initialize.hpp>
#include <gradual/autodiff/ops.hpp>
#include <gradual/core/philox_normal.hpp>
#include <gradual/core/shuffle.hpp>
#include <gradual/core/threefry.hpp>
#include <gradual/core/weighted_draw.hpp>
#include <gradual/nn/conv.hpp>
#include <gradual/nn/linear.hpp>

#include "../error_of.hpp"

namespace random_test {

using namespace gradual;

constexpr bool gives_known_answers() {
  return philox(0, {}) == PhiloxWords{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}} &&
         philox(~std::uint64_t{0}, {{~0u, ~0u, ~0u, ~0u}}) == PhiloxWords{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}} &&
         philox(0x299f31d0a4093822, {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}) ==
             PhiloxWords{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
}
constexpr bool threefry_gives_known_answers() {
  return threefry(0, 0) == 0x99ba4efe6b200159 && threefry(~std::uint64_t{0}, ~std::uint64_t{0}) == 0xbb002be71cb996fc &&
         threefry(0x0370734413198a2e, 0x85a308d3243f6a88) == 0x483df7a0c4923a9c;
}
static_assert(threefry_gives_known_answers());
TEST(Threefry, GivesTheKnownAnswers) { EXPECT_TRUE(threefry_gives_known_answers()); }

static_assert(gives_known_answers());
TEST(Philox, GivesTheKnownAnswers) { EXPECT_TRUE(gives_known_answers()); }

TEST(Philox, UniformAndNormalHaveTheirMoments) {
  const int n = 100000;
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const double u = uniform<float>(7, 3, i), z = normal<float>(7, 4, i);
    ASSERT_TRUE(u >= 0 && u < 1 && std::isfinite(z));
    mean += u, square += u * u, normal_mean += z, normal_square += z * z;
  }
  EXPECT_NEAR(mean / n, 0.5, 0.005);
  EXPECT_NEAR(square / n, 1 / 3.0, 0.005);
  EXPECT_NEAR(normal_mean / n, 0, 0.015);
  EXPECT_NEAR(normal_square / n, 1, 0.02);
}

TEST(Shuffle, IsAPermutationThatDependsOnSeedAndEpoch) {
  std::vector<std::int32_t> a(1000), b(1000), c(1000), seen(1000);
  shuffle(a, 1, 0);
  shuffle(b, 1, 0);
  shuffle(c, 1, 1);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  for (std::int32_t i : a) ++seen[static_cast<std::size_t>(i)];
  EXPECT_EQ(seen, std::vector<std::int32_t>(1000, 1));
}

std::vector<std::int32_t> drawn(const std::vector<double>& weights, std::size_t count, std::uint64_t seed = 5,
                                std::uint64_t epoch = 2) {
  std::vector<std::int32_t> order(count, -1);
  const WeightedDraw draw(weights);
  draw(order, seed, epoch);
  return order;
}

TEST(WeightedDraws, AreAsManyAsTheWeightsSay) {
  const std::vector<double> weights{0, 1, 0.25, 0, 6, 0, 0.75, 0, 0};  // their sum is 8
  const int n = 80000;
  std::vector<int> times(weights.size());
  for (const std::int32_t i : drawn(weights, n)) ++times.at(static_cast<std::size_t>(i));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / 8, deviation = std::sqrt(n * p * (1 - p));
    EXPECT_LE(std::abs(times[i] - n * p), 4 * deviation) << i;  // exactly 0 for a weight of 0
  }
}

TEST(WeightedDraws, AreThePlacesOfUniformNumbersAmongSums) {
  std::vector<std::int32_t> expected;
  for (std::uint64_t i = 0; i < 1000; ++i)
    expected.push_back(static_cast<std::int32_t>(8 * uniform<double>(5, shuffle_stream | 2, i)));
  EXPECT_EQ(drawn(std::vector<double>(8, 1.0), 1000), expected);
  EXPECT_EQ(drawn(std::vector<double>(8, 0x1p-1074), 1000).size(), 1000u);
}

TEST(WeightedDraws, DependOnSeedEpochAndPlaceAlone) {
  const std::vector<double> weights{1, 2, 3, 4, 5, 6, 7};
  const auto all = drawn(weights, 500);
  EXPECT_EQ(drawn(weights, 100), std::vector(all.begin(), all.begin() + 100));
  EXPECT_NE(drawn(weights, 500, 6), all);
  EXPECT_NE(drawn(weights, 500, 5, 3), all);
  const auto hash = [](const std::vector<double>& w) { return WeightedDraw(w).hash(); };
  EXPECT_EQ(hash(weights), hash({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_NE(hash(weights), hash({2, 1, 3, 4, 5, 6, 7}));
  EXPECT_NE(hash(weights), hash({1, 2, 3, 4, 5, 6, 8})) << "the last one is in the sum of all";
}

/// Also where a drawn place rounds up to the total, and where weights are lost in the total.
TEST(WeightedDraws, DrawNothingThatWeighsNothing) {
  const double least = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& weights : {std::vector<double>{0, least, 0}, {0, 1, 1e-300, 0}, {0, 0x1p1023, 0}})
    EXPECT_EQ(drawn(weights, 300), std::vector<std::int32_t>(300, 1));
  for (const std::int32_t i : drawn({0, least, least, 0, 0}, 300)) EXPECT_TRUE(i == 1 || i == 2) << i;
}

TEST(WeightedDraws, RefuseWhatCannotBeDrawn) {
  const auto refused = [](std::vector<double> weights) { return error_of<DataError>([&] { WeightedDraw of(weights); }); };
  EXPECT_EQ(refused({1, 0, -0.5}), "draw: sample 2: a weight of -0.5");
  EXPECT_EQ(refused({NAN}), "draw: sample 0: a weight of nan");
  EXPECT_EQ(refused({1, INFINITY}), "draw: sample 1: a weight of inf");
  EXPECT_EQ(refused({0, 0, 0}), "draw: the weights of all 3 samples are 0");
  EXPECT_EQ(refused({}), "draw: the weights of all 0 samples are 0");
  EXPECT_EQ(refused({1e308, 1e308}), "draw: the weights of 2 samples have an infinite sum");
}

std::vector<float> initial(const Initializer& of, std::uint64_t seed, int parameter = 0) {
  std::vector<float> values(20000);
  initialize(std::span(values), of, seed, parameter);
  return values;
}

TEST(Initializers, AreTheNumbersOfTheirPlacesToTheBit) {  // the formula written out, by unsigned integers
  for (const Initializer& of : {init::uniform(0.3), init::normal(0.3)}) {
    const std::vector<float> values = initial(of, 5, 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t bits = random_bits(5, 3, i);
      const float radius = static_cast<float>((bits >> 32) + 1) * 0x1p-32f, turn = static_cast<float>(bits & 0xffffffu) * 0x1p-24f;
      const float drawn = of.kind == Initializer::Kind::uniform
                              ? 2 * (static_cast<float>(bits >> 40) * 0x1p-24f) - 1
                              : math::sqrt(-2.0f * math::log(radius)) * math::cos(6.2831853f * turn);
      ASSERT_EQ(values[i], 0.3f * drawn) << i;
    }
  }
}

TEST(Initializers, HaveTheVarianceOfTheirFormula) {
  const std::int64_t in = 50, out = 200;
  const std::tuple<Initializer, double, bool> rows[] = {
      {init::kaiming_uniform(in), 2.0 / 50, true},      {init::kaiming_normal(in), 2.0 / 50, false},
      {init::xavier_uniform(in, out), 2.0 / 250, true}, {init::xavier_normal(in, out), 2.0 / 250, false},
      {init::linear_default(in), 1 / (3 * 50.0), true}, {init::uniform(0.5), 0.25 / 3, true}};
  for (const auto& [of, variance, bounded] : rows) {
    const std::vector<float> values = initial(of, 7);
    double mean = 0, square = 0, largest = 0;
    for (double x : values) mean += x / 20000, square += x * x / 20000, largest = std::max(largest, std::abs(x));
    EXPECT_NEAR(mean, 0, 4 * std::sqrt(variance / 20000));
    EXPECT_NEAR(square / variance, 1, 0.05);
    const double bound = std::sqrt(3 * variance);
    EXPECT_EQ(bounded, largest <= bound) << largest;
    EXPECT_GT(largest, 0.99 * bound);
  }
  EXPECT_EQ(initial(init::constant(1.5), 7), std::vector<float>(20000, 1.5f));
}

TEST(Initializers, DependOnTheSeedAndTheParameter) {
  for (const Initializer& of : {init::kaiming_uniform(8), init::xavier_normal(8, 3)}) {
    EXPECT_EQ(initial(of, 1), initial(of, 1));
    EXPECT_NE(initial(of, 1), initial(of, 2));
    EXPECT_NE(initial(of, 1), initial(of, 1, 1));
  }
}

TEST(Initializers, OfLayersTakeTheFanIn) {
  std::vector<ParameterInfo> declared;
  const Scope scope(declared);
  nn::Linear(scope / "linear", 50, 200);
  nn::Linear(scope / "relu", 50, 200, init::kaiming_uniform(50));
  nn::Conv2d(scope / "conv", 3, 16, 5);
  const std::pair<const char*, double> rows[] = {
      {"linear/weight", 1 / 50.0}, {"linear/bias", 1 / 50.0}, {"relu/weight", 6 / 50.0}, {"conv/weight", 1 / 75.0}};
  for (const auto& [name, square] : rows) {
    const auto found = std::ranges::find(declared, std::string_view(name), [](const auto& p) { return p.name.view(); });
    ASSERT_NE(found, declared.end()) << name;
    EXPECT_DOUBLE_EQ(found->initializer.scale * found->initializer.scale, square) << name;
  }
}

}  // namespace random_test
