// Label smoothing and weights of positives against their formulas, written as loops, together with ignored labels and weights
// by class; the split of a window does not change their bits.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/check/test_splits.hpp>

#include "../error_of.hpp"
#include "../models.hpp"

namespace loss_options_test {

using namespace models;

constexpr std::int64_t samples = 60;
constexpr std::size_t classes = 5;

double minus_log_softmax(std::span<const double> scores, std::size_t of) {
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  return std::log(sum) - scores[of];
}

/// Returns the cross entropy for a target distribution of (1 − ε) at the label plus ε/classes everywhere.
double smoothed(std::span<const double> scores, std::int32_t label, double smoothing) {
  double loss = 0;
  for (std::size_t c = 0; c < classes; ++c)
    loss += (smoothing / classes + (static_cast<std::int32_t>(c) == label ? 1 - smoothing : 0)) * minus_log_softmax(scores, c);
  return loss;
}

struct LossOptions : testing::Test {
  const std::vector<double> scores = numbers_in<double>(samples * classes);
  const std::vector<std::int32_t> label = labels(samples, classes);
  std::span<const double> row(std::size_t sample) const { return std::span(scores).subspan(sample * classes, classes); }
};

TEST_F(LossOptions, SmoothingIsThatOfItsFormula) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    EagerTape tape(Device::cpu(), samples);
    const Var in = tape.input(scores, {classes}), of = tape.input(label);
    const Tensor loss = value(cross_entropy(in, of, {.label_smoothing = smoothing}));
    for (std::size_t s = 0; s < samples; ++s)
      EXPECT_NEAR(loss[static_cast<std::int64_t>(s)], smoothed(row(s), label[s], smoothing), 1e-14);
  }
}

TEST_F(LossOptions, SmoothingLeavesIgnoredLabelsOut) {
  EagerTape tape(Device::cpu(), samples);
  const Var in = tape.input(scores, {classes}), of = tape.input(label);
  const Var by_class = convert(lookup(of, {0.5, 1, 2, 4, 8}), DType::f64);
  const Loss loss = cross_entropy(in, of, 3, {.label_smoothing = 0.2}).weighted_by(by_class);
  const Tensor values = value(loss.value), weights = value(loss.weight);
  for (std::size_t s = 0; s < samples; ++s) {
    const auto at = static_cast<std::int64_t>(s);
    EXPECT_NEAR(values[at], label[s] == 3 ? 0 : smoothed(row(s), label[s], 0.2), 1e-14);
    EXPECT_EQ(weights[at], label[s] == 3 ? 0 : std::exp2(label[s] - 1));
  }
}

TEST_F(LossOptions, OfNoSmoothingAScoreOfMinusInfinityIsNoClass) {
  EagerTape tape(Device::cpu());
  const double given[] = {0, -std::numeric_limits<double>::infinity(), 0};
  const std::int32_t first[] = {0};
  const Var in = tape.input(given, {3}), of = tape.input(first);
  EXPECT_NEAR(value(cross_entropy(in, of, {.label_smoothing = 0}))[0], std::log(2.0), 1e-15);
  EXPECT_EQ(value(cross_entropy(in, of, {.label_smoothing = 0.1}))[0], std::numeric_limits<double>::infinity());
}

TEST_F(LossOptions, PositivesWeighAsTheirFormulaSays) {
  constexpr double by_class[] = {0, 1, 2, 3.5, 20};
  EagerTape tape(Device::cpu(), samples);
  std::vector<double> targets(scores.size());
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 0.25;
  const Var in = tape.input(scores, {classes}), target = tape.input(targets, {classes});
  const Var weight = convert(lookup(iota(in, 1), {0, 1, 2, 3.5, 20}), DType::f64);
  const Tensor all = value(bce_with_logits(in, target, 3)), each = value(bce_with_logits(in, target, weight));
  for (std::size_t s = 0; s < samples; ++s) {
    double of_all = 0, of_each = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      const double t = targets[s * classes + c], likely = 1 / (1 + std::exp(-row(s)[c]));
      of_all -= (3 * t * std::log(likely) + (1 - t) * std::log(1 - likely)) / classes;
      of_each -= (by_class[c] * t * std::log(likely) + (1 - t) * std::log(1 - likely)) / classes;
    }
    EXPECT_NEAR(all[static_cast<std::int64_t>(s)], of_all, 1e-14);
    EXPECT_NEAR(each[static_cast<std::int64_t>(s)], of_each, 1e-14);
  }
}

TEST_F(LossOptions, ThatCannotBeAreRefused) {
  Tape tape;
  const Var in = input(tape, Shape::per_sample({3}), DType::f32), of = input(tape, Shape::per_sample({}), DType::i32);
  const auto smoothing = [&](double by) {
    return error_of<OptionError>([&] { cross_entropy(in, of, {.label_smoothing = by}); });
  };
  EXPECT_EQ(smoothing(-0.5), "cross_entropy: a label_smoothing of -0.5, outside 0 to 1");
  EXPECT_EQ(smoothing(1.5), "cross_entropy: a label_smoothing of 1.5, outside 0 to 1");
  EXPECT_EQ(smoothing(std::nan("")), "cross_entropy: a label_smoothing of NaN, outside 0 to 1");
  EXPECT_EQ(error_of<ShapeError>([&] { bce_with_logits(in, in, input(tape, {2}, DType::f32)); }),
            "bce_with_logits: broadcast: shape [2] cannot be repeated to [batch, 3]");
}

/// Both options in one loss, one of its halves with labels that may be ignored.
struct Both {
  nn::Linear layer;
  constexpr explicit Both(Scope s) : layer(s / "layer", 4, classes) {}
  constexpr Loss loss(Var x, Var label, Var target) const {
    const Var scores = layer(x);
    const Loss chosen = cross_entropy(scores, label, 3, {.label_smoothing = 0.1});
    return Loss(chosen.value + bce_with_logits(scores, target, lookup(iota(scores, 1), {1, 2, 3, 4, 5})))
        .weighted_by(chosen.weight);
  }
};
TEST_F(LossOptions, HaveTheSameBitsHoweverAWindowIsSplit) {
  std::vector<float> targets = numbers(samples * classes, 3);
  for (float& t : targets) t = t > 0 ? 1.0f : 0.0f;
  const SplitCheck check = test_splits(Compiled<Both, Inputs<f32[4], i32, f32[classes]>>{}, Accumulate{Adam{}},
                                       {{7, 1, 52}, {30, 30}}, numbers(samples * 4), label, targets);
  EXPECT_TRUE(check.mistakes.empty()) << check;
}

}  // namespace loss_options_test
