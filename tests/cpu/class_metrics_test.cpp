// Precision, recall and F1, as metrics of a loss and by a confusion matrix, and the areas under the ROC curve and under precision
// by recall, against counts by sample and by pair.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "../error_of.hpp"
#include "../models.hpp"

namespace class_metrics_test {

using namespace models;

constexpr std::int32_t padding = -100;
constexpr std::size_t samples = 90, classes = 4;

/// Metrics of class 2, with a weighted loss that ignores some labels.
struct Model {
  nn::Linear layer;
  constexpr explicit Model(Scope s) : layer(s / "layer", 6, classes) {}
  constexpr Var predict(Var x) const { return layer(x); }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = predict(x), guess = argmax(scores), counts = label != double{padding};
    return Loss(cross_entropy(scores, label, padding), precision("precision", guess, label, 2, counts),
                recall("recall", guess, label, 2), f1("f1", guess, label, 2, counts))
        .weighted_by(lookup(label, {1, 2, 0.5, 3}));
  }
};
using Net = Compiled<Model, Inputs<f32[6], i32>>;

/// The counts for one class, from which all metrics follow.
struct Counted {
  double right = 0, missed = 0, wrong = 0;
  double precision() const { return right / (right + wrong); }
  double recall() const { return right / (right + missed); }
  double f1() const { return 2 / (1 / precision() + 1 / recall()); }
};
Counted counted(std::span<const std::int32_t> guesses, std::span<const std::int32_t> labels, std::int32_t of) {
  Counted c;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    if (labels[s] == padding) continue;
    c.right += guesses[s] == of && labels[s] == of;
    c.missed += guesses[s] != of && labels[s] == of;
    c.wrong += guesses[s] == of && labels[s] != of;
  }
  return c;
}

struct ClassMetrics : testing::Test {
  const std::vector<float> x = numbers(samples * 6);
  std::vector<std::int32_t> y = labels(samples, classes);
  Trainer<Net, Accumulate<Adam>> trainer{Net{}, Accumulate{Adam{}}, {.global_batch = 30, .micro_batch = 7}};
  std::vector<float> scores;
  std::vector<std::int32_t> guesses;

  ClassMetrics() {
    for (std::size_t s = 0; s < samples; s += 5) y[s] = padding;
    scores = trainer.predict(x);
    for (std::size_t s = 0; s < samples; ++s) {
      const auto row = std::span(scores).subspan(s * classes, classes);
      guesses.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    }
  }
};

TEST_F(ClassMetrics, BesideALossAreWhatIsCounted) {
  const Counted two = counted(guesses, y, 2);
  ASSERT_GT(two.right, 0);
  const Averages averages = trainer.evaluate(Dataset(x, y));
  EXPECT_DOUBLE_EQ(averages.metric(Net::metric("precision")), two.precision());
  EXPECT_DOUBLE_EQ(averages.metric(Net::metric("recall")), two.recall());
  EXPECT_DOUBLE_EQ(averages.metric(Net::metric("f1")), two.f1());
}

TEST_F(ClassMetrics, OfAMatrixAreWhatIsCounted) {
  const ConfusionMatrix matrix(scores, y, padding);
  double precision = 0, recall = 0, f1 = 0, right = 0, all = 0;
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(classes); ++c) {
    const Counted of = counted(guesses, y, c);
    EXPECT_EQ(matrix.count(c, c), of.right);
    EXPECT_DOUBLE_EQ(matrix.precision(c), of.precision());
    EXPECT_DOUBLE_EQ(matrix.recall(c), of.recall());
    EXPECT_DOUBLE_EQ(matrix.f1(c), of.f1());
    precision += of.precision() / classes, recall += of.recall() / classes, f1 += of.f1() / classes;
    right += of.right, all += of.right + of.missed;
  }
  EXPECT_DOUBLE_EQ(matrix.macro_precision(), precision);
  EXPECT_DOUBLE_EQ(matrix.macro_recall(), recall);
  EXPECT_DOUBLE_EQ(matrix.macro_f1(), f1);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), right / all);
}

TEST_F(ClassMetrics, DecideByAMonitor) {
  std::vector<double> seen;
  trainer.fit(Dataset(x, y), {.epochs = 30, .patience = 3, .monitor = [&](auto&) {
                                seen.push_back(-ConfusionMatrix(trainer.predict(x), y, padding).macro_f1());
                                return seen.back();
                              }});
  EXPECT_EQ(-ConfusionMatrix(trainer.predict(x), y, padding).macro_f1(), std::ranges::min(seen));
}

TEST(ConfusionMatrices, LeaveOutClassesThatDoNotOccur) {  // as scikit-learn's macro averages with zero_division=0
  ConfusionMatrix matrix(5);
  EXPECT_TRUE(std::isnan(matrix.accuracy()) && std::isnan(matrix.macro_f1()));
  for (const auto& [label, guess] : {std::pair(0, 0), {0, 0}, {0, 3}, {1, 0}}) matrix.add(label, guess);
  EXPECT_EQ(matrix.count(1, 0), 1);
  EXPECT_EQ(matrix.count(0, 1), 0);
  EXPECT_TRUE(std::isnan(matrix.precision(1)) && std::isnan(matrix.recall(3)) && std::isnan(matrix.f1(2)));
  EXPECT_DOUBLE_EQ(matrix.macro_precision(), (2 / 3.0 + 0 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro_recall(), (2 / 3.0 + 0 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.macro_f1(), (4 / 6.0 + 0 + 0) / 3);
}

TEST(ConfusionMatrices, ArePrintedARowForEachLabel) {
  ConfusionMatrix matrix(3);
  for (const auto& [label, guess] : {std::pair(0, 0), {0, 0}, {0, 1}, {1, 1}}) matrix.add(label, guess);
  std::ostringstream out;
  out << matrix;
  EXPECT_EQ(out.str(), "label \\ guess      0      1      2  precision  recall      f1\n"
                       "            0      2      1      0     1.0000  0.6667  0.8000\n"
                       "            1      0      1      0     0.5000  1.0000  0.6667\n"
                       "            2      0      0      0        nan     nan     nan\n"
                       "accuracy 0.7500, macro f1 0.7333\n");
}

TEST(ConfusionMatrices, TakeTheFirstLargestScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {1, 1, 0, 0, nan, 5, -1, -2, -1};
  const ConfusionMatrix matrix(scores, std::vector<std::int32_t>{2, 2, 2});
  EXPECT_EQ(matrix.count(2, 0), 2);
  EXPECT_EQ(matrix.count(2, 1), 1);
}

TEST(ConfusionMatrices, RefuseWhatDoesNotFit) {
  const std::vector<float> scores(6);
  const auto refused = [&](std::vector<std::int32_t> labels) {
    return error_of<DataError>([&] { ConfusionMatrix(scores, labels); });
  };
  EXPECT_EQ(refused({}), "ConfusionMatrix: 6 scores do not make a row for each of 0 labels");
  EXPECT_EQ(refused({0, 1, 0, 1}), "ConfusionMatrix: 6 scores do not make a row for each of 4 labels");
  EXPECT_EQ(refused({0, 1, 0, 1, 0, 1}),
            "ConfusionMatrix: one score for each label makes one class; for two, use ConfusionMatrix(2) "
            "and add(label, score > 0)");
  EXPECT_EQ(refused({0, 3}), "ConfusionMatrix: class 3 of 3, from 0");
  EXPECT_EQ(refused({-1, 2}), "ConfusionMatrix: class -1 of 3, from 0");
  EXPECT_EQ(error_of<DataError>([] { ConfusionMatrix(std::vector<float>(), std::vector<std::int32_t>{0}); }),
            "ConfusionMatrix: 0 scores do not make a row for each of 1 labels");
  EXPECT_EQ(error_of<OptionError>([] { ConfusionMatrix(0); }), "ConfusionMatrix: 0 classes");
  EXPECT_EQ(error_of<OptionError>([] { ConfusionMatrix(std::int64_t{1} << 32); }), "ConfusionMatrix: 4294967296 classes");
}

TEST(RocAuc, IsTheShareOfPairsInTheRightOrder) {
  std::vector<float> scores = numbers(200, 5);
  std::vector<std::int32_t> label(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i % 3 != 0) scores[i] = std::round(scores[i] * 8) / 8;  // many are equal
    label[i] = scores[i] + numbers(1, static_cast<unsigned>(i))[0] > 0.2f;
  }
  double won = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t k = 0; k < scores.size(); ++k)
      if (label[i] == 1 && label[k] == 0) won += scores[i] > scores[k] ? 1 : scores[i] == scores[k] ? 0.5 : 0, ++pairs;
  EXPECT_EQ(roc_auc(scores, label), won / pairs);
  EXPECT_GT(won / pairs, 0.5);
  EXPECT_EQ(roc_auc(std::vector<double>{0, INFINITY, -INFINITY, 0}, std::vector<float>{1, 1, 0, 0}), 3.5 / 4);
}

/// Values of scikit-learn 1.9.1's roc_auc_score(labels, scores, sample_weight=weights).
TEST(RocAuc, WeighsPairsByBothOfTheirSamples) {
  const std::vector<float> scores{0.1f, 0.4f, 0.35f, 0.8f, 0.4f, 0.4f, 0.9f, 0.2f};
  const std::vector<std::int32_t> label{0, 0, 1, 1, 1, 0, 0, 1};
  const std::vector<float> weights{1, 2.5f, 0.5f, 3, 0, 0.75f, 1.25f, 4};
  EXPECT_EQ(roc_auc(scores, label), 0.4375);
  EXPECT_DOUBLE_EQ(roc_auc(scores, label, weights), 0.41818181818181815);
  std::vector<double> many, some(60);
  std::vector<bool> holds;
  for (int i = 0; i < 60; ++i) {
    many.push_back(i * 37 % 11 / 4.0);  // ties of both classes
    holds.push_back((i * i + i / 3) % 5 < 2);
    some[static_cast<std::size_t>(i)] = i * 13 % 7 / 3.0;
  }
  EXPECT_DOUBLE_EQ(roc_auc(many, holds), 0.4949776785714286);
  EXPECT_DOUBLE_EQ(roc_auc(many, holds, some), 0.5187951807228917);
  EXPECT_EQ(roc_auc(many, holds, std::vector<int>(60, 3)), roc_auc(many, holds));
  const std::vector<int> four{1, 2, 3, 4}, odd{1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(roc_auc(four, odd, std::vector<double>{3e-300, 1e300, 1e-300, 3e300}), 0.0625);
  EXPECT_DOUBLE_EQ(roc_auc(four, odd, std::vector<double>{1e200, 1e-200, 1e200, 0}), 0.5);
  for (const double unit : {1e300, 1e-300})  // products of two would be infinite, and 0
    EXPECT_DOUBLE_EQ(roc_auc(four, odd, std::vector<double>{3 * unit, unit, unit, 3 * unit}), 0.0625);
}

TEST(RocAuc, OfOneClassIsNoNumber) {
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>{1, 2}, std::vector<float>{1, 0}, std::vector<float>{0, 1})));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>{1, 2}, std::vector<float>{1, 1})));
  EXPECT_TRUE(std::isnan(roc_auc(std::vector<float>(), std::vector<float>())));
}

TEST(RocAuc, RefusesWhatIsNoScoreOrLabel) {
  const auto refused = [](std::vector<float> scores, std::vector<double> labels) {
    return error_of<DataError>([&] { roc_auc(scores, labels); });
  };
  EXPECT_EQ(refused({1, 2}, {1}), "roc_auc: 2 scores, 1 labels");
  EXPECT_EQ(refused({1, NAN}, {1, 0}), "roc_auc: sample 1: a score that is NaN");
  EXPECT_EQ(refused({1, 2}, {0.5, 0}), "roc_auc: sample 0: label 0.5, which is not 0 or 1");
  const auto weight_refused = [](std::vector<double> weights) {
    return error_of<DataError>([&] { roc_auc(std::vector<float>{1, 2}, std::vector<int>{1, 0}, weights); });
  };
  EXPECT_EQ(weight_refused({1, 2, 3}), "roc_auc: 2 scores, 3 weights");
  EXPECT_EQ(weight_refused({1, -0.5}), "roc_auc: sample 1: a weight of -0.5");
  EXPECT_EQ(weight_refused({INFINITY, 1}), "roc_auc: sample 0: a weight of inf");
  EXPECT_EQ(weight_refused({0, NAN}), "roc_auc: sample 1: a weight of nan");
}

TEST(AveragePrecision, IsTheMeanPrecisionOverPositives) {
  EXPECT_DOUBLE_EQ(average_precision(std::vector<double>{0.1, 0.4, 0.35, 0.8}, std::vector<int>{0, 0, 1, 1}), 5. / 6);
  std::vector<float> scores = numbers(200, 5);
  std::vector<std::int32_t> label(scores.size());
  std::vector<double> weights(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (i % 3 != 0) scores[i] = std::round(scores[i] * 8) / 8;  // many are equal
    label[i] = scores[i] + numbers(1, static_cast<unsigned>(i))[0] > 0.4f;
    weights[i] = static_cast<double>(i * 13 % 7) / 3;
  }
  const auto expected = [&](auto weight_of) {
    double sum = 0, positives = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (label[i] == 0) continue;
      double taken = 0, found = 0;
      for (std::size_t k = 0; k < scores.size(); ++k)
        if (scores[k] >= scores[i]) taken += weight_of(k), found += weight_of(k) * label[k];
      positives += weight_of(i);
      if (weight_of(i) > 0) sum += weight_of(i) * found / taken;
    }
    return sum / positives;
  };
  EXPECT_GT(std::ranges::count(label, 1), 5);
  EXPECT_NEAR(average_precision(scores, label), expected([](std::size_t) { return 1.0; }), 1e-14);
  EXPECT_NEAR(average_precision(scores, label, weights), expected([&](std::size_t i) { return weights[i]; }), 1e-14);
  for (double& weight : weights) weight *= 5e307;  // two are more than the largest number
  EXPECT_NEAR(average_precision(scores, label, weights), expected([&](std::size_t i) { return weights[i] / 5e307; }), 1e-14);
}

TEST(AveragePrecision, OfAScoreThatTellsNothingIsTheShareOfPositives) {
  EXPECT_EQ(average_precision(std::vector<float>(8), std::vector<int>{0, 1, 0, 0, 0, 1, 0, 0}), 0.25);
  EXPECT_EQ(average_precision(std::vector<float>{1, 2}, std::vector<int>{1, 1}), 1);
}

TEST(AveragePrecision, WithoutPositivesIsNoNumber) {
  EXPECT_TRUE(std::isnan(average_precision(std::vector<float>{1, 2}, std::vector<float>{0, 0})));
  EXPECT_TRUE(std::isnan(average_precision(std::vector<float>{1, 2}, std::vector<float>{1, 0}, std::vector<float>{0, 1})));
  EXPECT_TRUE(std::isnan(average_precision(std::vector<float>(), std::vector<float>())));
  EXPECT_EQ(error_of<DataError>([] { average_precision(std::vector<float>{1, 2}, std::vector<int>{1, -1}); }),
            "average_precision: sample 1: label -1, which is not 0 or 1");
}

}  // namespace class_metrics_test
