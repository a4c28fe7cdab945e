// Case 23: labels that a loss ignores have no weight, in gradients, means and metrics.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace ignored_labels_test {

using namespace models;

constexpr std::int32_t padding = -100;
constexpr std::int64_t samples = 150, tokens = 2;

/// Classifies two tokens of each sample.
struct Tagger {
  nn::Linear output;
  constexpr explicit Tagger(Scope s) : output(s / "output", 4, 5) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = output(x);
    return {cross_entropy(scores, label, padding), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Tagger, Inputs<f32[tokens][4], i32[tokens]>>;

/// Also predicts one number for each sample.
struct TaggerOfSizes {
  nn::Linear output, total;
  constexpr explicit TaggerOfSizes(Scope s) : output(s / "output", 4, 5), total(s / "total", tokens * 4, 1) {}
  constexpr Loss loss(Var x, Var label, Var size) const {
    const Loss tags = cross_entropy(output(x), label, padding);
    const Var missed = mse(total(flatten(x)), size);
    return Loss(sum(tags.value, {1}) + 0.5 * missed, metric("size", missed));
  }
};

auto session_of(std::int64_t micro_batch = samples) {
  return Session(Net{}, Accumulate{Sgd{}}, {.global_batch = samples, .micro_batch = micro_batch});
}

/// A third of the labels is ignored; the values of ignored tokens are `noise`.
struct Data {
  std::vector<float> x = numbers(samples * tokens * 4);
  std::vector<std::int32_t> label = labels(samples * tokens, 5);
  explicit Data(float noise) {
    for (std::size_t i = 0; i < label.size(); i += 3) {
      label[i] = padding;
      for (std::size_t k = 0; k < 4; ++k) x[i * 4 + k] = noise;
    }
  }
};

TEST(IgnoredLabels, LeaveNoTrace) {
  auto session = session_of(), other = session_of(), parts = session_of(7);
  const Data data(0.5f), noise(1000);
  EXPECT_EQ(session.accumulate(data.x, data.label), 1);
  EXPECT_EQ(other.accumulate(noise.x, noise.label), 1);
  EXPECT_EQ(parts.accumulate(data.x, data.label), 1);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), parts.parameter_bytes()), 0);
  EXPECT_EQ(session.last_window().weight(), 200);  // of 300 tokens
  EXPECT_EQ(session.last_window().loss(), other.last_window().loss());
}

TEST(IgnoredLabels, BesideALossOfEachSample) {
  auto alone = session_of();
  Session both(Compiled<TaggerOfSizes, Inputs<f32[tokens][4], i32[tokens], f32[1]>>{}, Accumulate{Sgd{}},
               {.global_batch = samples});
  const Data data(0.5f);
  alone.accumulate(data.x, data.label);
  both.accumulate(data.x, data.label, numbers(samples));
  const Averages &tags = alone.last_window(), &sum = both.last_window();
  EXPECT_NEAR(sum.loss(), tags.loss() * tags.weight() / samples + 0.5 * sum.metric(0), 1e-6);
}

TEST(IgnoredLabels, MeansAreOverTheOthers) {
  const Data data(0.5f);
  std::vector<float> x;
  std::vector<std::int32_t> label;
  for (std::size_t i = 0; i < data.label.size(); ++i) {
    if (data.label[i] == padding) continue;
    x.insert(x.end(), data.x.begin() + static_cast<std::ptrdiff_t>(i * 4),
             data.x.begin() + static_cast<std::ptrdiff_t>(i * 4 + 4));
    label.push_back(data.label[i]);
  }
  auto session = session_of();
  const Averages all = session.evaluate(data.x, data.label), kept = session.evaluate(x, label);
  EXPECT_EQ(all.loss(), kept.loss());
  EXPECT_EQ(all.metric(0), kept.metric(0));
  EXPECT_GT(kept.metric(0), 0);
}

TEST(IgnoredLabels, ByNothingElsePatienceCannotJudge) {
  const Data data(0.5f);
  const std::vector<std::int32_t> ignored(samples * tokens, padding);
  Trainer trainer(Net{}, Accumulate{Sgd{}}, {.global_batch = samples});
  const Dataset<f32, i32> train = Dataset<f32, i32>::of(samples, data.x, data.label),
                          test = Dataset<f32, i32>::of(samples, data.x, ignored);
  EXPECT_EQ(trainer.fit(train, {.validate = test}).size(), 1u);
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(train, {.epochs = 9, .validate = test, .patience = 3}); }),
            "fit: validation data: the weights of its samples are 0");
  EXPECT_EQ(trainer.epoch(), 2);
}

TEST(IgnoredLabels, AWindowOfNothingElseMakesNoStep) {
  const auto x = numbers(samples * tokens * 4);
  const std::vector<std::int32_t> label(samples * tokens, padding);
  auto session = session_of();
  const auto before = session.parameter_bytes();
  const std::vector<std::byte> kept(before.begin(), before.end());
  EXPECT_EQ(session.accumulate(x, label), 0);
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(session.dropped_windows(), 0);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), kept), 0);
  EXPECT_TRUE(std::isnan(session.last_window().loss()));
  EXPECT_EQ(session.last_window().weight(), 0);
  for (const double sum : session.last_window().sums()) EXPECT_EQ(sum, 0);

  Parameters parameters(Device::cpu());
  const Tagger net(parameters.root());
  Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = samples});
  const auto record = [&](EagerTape& tape) {
    return net.loss(tape.input(x, {tokens, 4}), tape.input(label, {tokens}));
  };
  EXPECT_EQ(eager.accumulate(samples, record), 0);
  EXPECT_TRUE(std::isnan(eager.last_window().loss()));
  EXPECT_EQ(eager.last_window().sums()[0], 0);
}

TEST(IgnoredLabels, AreOneLabelAlone) {
  const auto x = numbers(samples * tokens * 4);
  auto label = labels(samples * tokens, 5);
  label[7] = -1;
  try {
    session_of().accumulate(x, label);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "input 1, sample 3: label 1 is -1, outside the 5 classes 0 to 4 and not the ignored -100");
  }
}

TEST(IgnoredLabels, AreRefusedWhereAnotherLossCountsThem) {
  Tape tape;
  const Var scores = input(tape, Shape::per_sample({5}), DType::f32),
            label = input(tape, Shape::per_sample({}), DType::i32);
  const auto accepts_padding = [&] {
    return std::ranges::all_of(tape.label_ranges, [](const LabelRange& range) { return range.accepts(padding); });
  };
  cross_entropy(scores, label, padding);
  cross_entropy(scores, label, padding);
  EXPECT_EQ(tape.label_ranges.size(), 1u);
  EXPECT_TRUE(accepts_padding());
  cross_entropy(scores, label);
  cross_entropy(scores, label, padding);
  EXPECT_EQ(tape.label_ranges.size(), 2u);
  EXPECT_FALSE(accepts_padding());
}

TEST(IgnoredLabels, KeepTheirWeightOfZeroBesideOthers) {
  Tape tape;
  const Var scores = input(tape, Shape::per_sample({3}), DType::f32),
            label = input(tape, Shape::per_sample({}), DType::i32),
            weight = input(tape, Shape::per_sample({}), DType::f32);
  const Loss loss = cross_entropy(scores, label, padding).weighted_by(weight);
  const Reference<float> reference(tape, 2, {{0, 0, 0, 0, 0, 0}, {1, padding}, {3, 5}}, {});
  EXPECT_EQ(reference[loss.weight.id], (std::vector<float>{3, 0}));
  EXPECT_EQ(reference[loss.value.id][1], 0);
}

}  // namespace ignored_labels_test
