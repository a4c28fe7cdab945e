// Metrics with weights of their own, different from those of the loss: equal to counts by the host, from every kind of
// session, however windows are split and wherever they are resumed.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace metric_weights_test {

using namespace models;

constexpr std::int64_t samples = 48, classes = 3, width = 4;

struct Model {
  nn::Linear layer;
  constexpr explicit Model(Scope s) : layer(s / "layer", width, classes) {}
  constexpr Var predict(Var x) const { return layer(x); }
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = layer(x), guess = argmax(scores), right = guess == label;
    return Loss(cross_entropy(scores, label), metric("recall", guess == 2.0, label == 2.0), metric("weighted", right),
                metric("accuracy", right, 1))
        .weighted_by(lookup(label, {0.25, 1, 3}));
  }
};
using Net = Compiled<Model, Inputs<f32[width], i32>>;

struct MetricWeights : testing::Test {
  const std::vector<float> x = numbers(samples * width);
  const std::vector<std::int32_t> y = labels(samples, classes);

  std::span<const float> features(std::int64_t first, std::int64_t count) const {
    return std::span(x).subspan(static_cast<std::size_t>(first * width), static_cast<std::size_t>(count * width));
  }
  std::span<const std::int32_t> answers(std::int64_t first, std::int64_t count) const {
    return std::span(y).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }
  template <class S>
  void give(S& session, std::int64_t first, std::int64_t count) const {
    session.accumulate(features(first, count), answers(first, count));
  }
};

std::vector<double> all_of(const Averages& averages) {
  std::vector<double> all = {averages.loss(), averages.weight()};
  for (int m = 0; m < averages.metrics().count; ++m) all.push_back(averages.metric(m));
  return all;
}

TEST_F(MetricWeights, AreWhatTheHostCounts) {
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = samples});
  Inference<Net> classify(session.parameters().values());
  std::vector<float> scores(samples * classes);
  classify(x, scores);
  double found = 0, there = 0, right = 0, weighted = 0, weights = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    const auto row = std::span(scores).subspan(s * classes, classes);
    const auto guess = std::ranges::max_element(row) - row.begin();
    const double weight = y[s] == 0 ? 0.25 : y[s] == 1 ? 1 : 3;
    there += y[s] == 2;
    found += y[s] == 2 && guess == 2;
    right += guess == y[s];
    weighted += guess == y[s] ? weight : 0;
    weights += weight;
  }
  for (const Averages& averages : {session.evaluate(x, y), (session.accumulate(x, y), session.last_window())}) {
    EXPECT_EQ(averages.metric(session.metric("recall")), found / there);
    EXPECT_EQ(averages.metric(session.metric("accuracy")), right / samples);
    EXPECT_EQ(averages.metric(session.metric("weighted")), weighted / weights);
  }
  const double of_none = session.evaluate(features(0, 1), std::vector<std::int32_t>{1}).metric(session.metric("recall"));
  EXPECT_TRUE(std::isnan(of_none) && !std::signbit(of_none));
}

TEST_F(MetricWeights, AreTheSameHoweverAWindowIsCutOrResumed) {
  Session whole(Net{}, Accumulate{Adam{}}, {.global_batch = samples});
  Session parts(Net{}, Accumulate{Adam{}}, {.global_batch = samples, .micro_batch = 7});
  give(whole, 0, samples);
  give(parts, 0, 20);
  Session resumed(Net{}, Accumulate{Adam{}}, {.global_batch = samples});
  resumed.restore(parts.state());
  give(resumed, 20, samples - 20);
  EXPECT_EQ(all_of(whole.last_window()), all_of(resumed.last_window()));
  parts.restore(resumed.state());
  EXPECT_EQ(all_of(whole.last_window()), all_of(parts.last_window()));
}

TEST_F(MetricWeights, AreTheSameEagerly) {
  Session compiled(Net{}, Accumulate{Adam{}}, {.global_batch = samples});
  give(compiled, 0, samples);
  Parameters parameters(Device::cpu());
  const Model model(parameters.root());
  const auto make = [&] { return Session(parameters, Accumulate{Adam{}}, {.global_batch = samples, .micro_batch = 5}); };
  auto eager = make();
  const auto give_eagerly = [&](auto& session, std::int64_t first, std::int64_t count) {
    session.accumulate(count, [&](EagerTape& tape) {
      return model.loss(tape.input(features(first, count), {width}), tape.input(answers(first, count)));
    });
  };
  give_eagerly(eager, 0, 20);
  auto resumed = make();
  resumed.restore(eager.state());
  give_eagerly(resumed, 20, samples - 20);
  EXPECT_EQ(all_of(compiled.last_window()), all_of(resumed.last_window()));
  compiled.restore(resumed.state());
  EXPECT_EQ(all_of(compiled.last_window()), all_of(resumed.last_window()));
}

TEST_F(MetricWeights, AreThoseOfAnEpoch) {
  Trainer trainer(Net{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = 10});
  const Dataset data(x, y);
  const History history = trainer.fit(data, {.epochs = 1, .validate = data});
  const int recall = trainer.metric("recall");
  EXPECT_DOUBLE_EQ(history[0].training.metric(recall), history[0].validation.metric(recall));
}

TEST(MetricWeightsOfOthers, AreRefused) {
  struct Other {
    nn::Linear layer;
    constexpr explicit Other(Scope s) : layer(s / "layer", width, classes) {}
    constexpr Loss loss(Var x, Var label) const {
      const Var scores = layer(x), right = argmax(scores) == label;
      return Loss(cross_entropy(scores, label), metric("a", right), metric("b", right, 1), metric("c", right, 1));
    }
  };
  Session of(Net{}, Accumulate{Sgd{}}, {.global_batch = 1});
  Session other(Compiled<Other, Inputs<f32[width], i32>>{}, Accumulate{Sgd{}}, {.global_batch = 1});
  of.accumulate(std::vector<float>(width), std::vector<std::int32_t>(1));
  EXPECT_THROW(other.restore(of.state()), FileError);

  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root(), width, 1);
  Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const std::vector<float> zeros(width);
  const auto give = [&](bool weighted) {
    eager.accumulate(1, [&](EagerTape& tape) {
      const Var y = mean_per_sample(layer(tape.input(std::span<const float>(zeros), {width})));
      return weighted ? Loss(y, metric("m", y, 2)) : Loss(y, metric("m", y));
    });
  };
  give(true);
  EXPECT_EQ(error_of<ShapeError>([&] { give(false); }),
            "a loss with 1 metrics; earlier parts had 1, but others of them had weights of their own");
}

}  // namespace metric_weights_test
