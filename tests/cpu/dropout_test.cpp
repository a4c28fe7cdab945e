// Dropout: what is dropped depends on the sample, not on the micro-batch that it is in; evaluation drops nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../error_of.hpp"
#include "../models.hpp"

namespace dropout_test {

using namespace models;

constexpr std::size_t samples = 600;

struct Noise {
  Parameter scale;
  constexpr explicit Noise(Scope s) : scale(s.parameter("scale", Shape{100}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return dropout(x * scale, 0.25); }
  constexpr Loss loss(Var x) const { return {sum(predict(x), {-1})}; }
};
using NoiseNet = Compiled<Noise, Inputs<f32[100]>>;

std::vector<std::byte> trained(const std::vector<std::size_t>& split) {
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  Session session(DroppedNet{}, Accumulate{Adam{}}, {.global_batch = samples, .seed = 5});
  for (int step = 0; step < 5; ++step) {
    std::size_t at = 0;
    for (std::size_t part : split) {
      session.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
      at += part;
    }
  }
  return {session.parameter_bytes().begin(), session.parameter_bytes().end()};
}

TEST(Dropout, BitsDoNotDependOnTheSplit) {
  const auto whole = trained({samples});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(6, 100))), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 192})), 0);
}

TEST(Dropout, OfADataSetDoesNotDependOnTheMicroBatch) {
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  const auto fit = [&](std::int64_t micro_batch) {
    Trainer trainer(DroppedNet{}, Accumulate{Adam{}}, {.global_batch = 256, .micro_batch = micro_batch, .seed = 5});
    trainer.fit(Dataset(x, y), {.epochs = 3});
    const auto bytes = trainer.session().parameter_bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(differing_bits(fit(256), fit(128)), 0);
}

TEST(Dropout, DropsAtItsRateAndScalesTheRest) {
  const std::vector<float> x(samples * 100, 1.0f);
  Session session(NoiseNet{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = samples, .seed = 1});
  session.accumulate(x);
  const double first = session.last_window().loss();
  session.accumulate(x);
  EXPECT_NEAR(first, 100, 1);  // 60,000 elements: a deviation of 0.24
  EXPECT_NE(first, session.last_window().loss()) << "the next step drops others";
  EXPECT_EQ(session.evaluate(x).loss(), 100.0);
}

TEST(Dropout, OfARowThatIsDrawnTwiceIsTheSameWithinAnEpoch) {
  const std::vector<float> x(3 * 100, 1.0f);
  Session session(NoiseNet{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = 2, .gather = true, .seed = 1});
  const auto loss = [&](std::int32_t first, std::int32_t second, std::uint64_t epoch) {
    const std::int32_t rows[] = {first, second};
    std::int64_t done = 0;
    session.accumulate_rows(rows, epoch, true, done, x);
    return session.last_window().loss();
  };
  EXPECT_EQ(loss(1, 2, 0), (loss(1, 1, 0) + loss(2, 2, 0)) / 2);
  EXPECT_NE(loss(1, 1, 0), loss(2, 2, 0));
  EXPECT_NE(loss(1, 1, 0), loss(1, 1, 1)) << "the next epoch drops others";
}

TEST(Dropout, IsAbsentFromInference) {
  static_assert(NoiseNet::Prediction::root(Role::prediction) >= 0);
  for (int i = 0; i < NoiseNet::Prediction::nodes; ++i) EXPECT_NE(NoiseNet::Prediction::graph.nodes[i].op->kind, Kind::random);
}

/// Returns the predictions of `Noise` with draws, in calls with these numbers of samples.
std::vector<float> drawn(const Draw& draw, std::int64_t batch, const std::vector<std::int64_t>& calls) {
  static const std::vector<float> x(samples * 100, 1.0f), scale(100, 1.0f);
  std::vector<float> out(samples * 100);
  Inference<Drawing<NoiseNet>> net(scale, batch);
  Inference<Drawing<NoiseNet>> copy = net;
  Draw here = draw;
  for (const std::int64_t count : calls) {
    const auto at = static_cast<std::size_t>((here.first - draw.first) * 100), size = static_cast<std::size_t>(count * 100);
    copy(here, std::span(x).subspan(at, size), std::span(out).subspan(at, size));
    here.first += count;
  }
  return out;
}

TEST(Dropout, OfPredictionsThatDrawIsThatOfTrainingWhateverTheBatch) {
  const auto first = drawn({.seed = 1, .round = 0}, 64, {samples});
  EXPECT_EQ(drawn({.seed = 1, .round = 0}, 7, {samples}), first);
  EXPECT_EQ(drawn({.seed = 1, .round = 0}, 64, {1, 130, 469}), first);
  EXPECT_NE(drawn({.seed = 2, .round = 0}, 64, {samples}), first);
  EXPECT_NE(drawn({.seed = 1, .round = 1}, 64, {samples}), first);
  EXPECT_NE(drawn({.seed = 1, .round = 0, .first = 1}, 64, {samples}), first);
  EXPECT_EQ(std::set<float>(first.begin(), first.end()), (std::set<float>{0, static_cast<float>(1 / 0.75)}));

  const std::vector<float> x(samples * 100, 1.0f);
  Session session(NoiseNet{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = samples, .seed = 1});
  for (const std::uint64_t step : {0u, 1u}) {
    session.accumulate(x);
    double mean = 0;
    for (const float value : drawn({.seed = 1, .round = step}, 64, {samples})) mean += double{value} / samples;
    EXPECT_NEAR(session.last_window().loss(), mean, 1e-4) << step;
  }
}

TEST(Dropout, OfPredictionsTellsHowSureANetIs) {
  using Net = DroppedNet;
  const auto x = numbers(samples * 9);
  Trainer trainer(Net{}, Accumulate{Adam{}}, {.global_batch = 256, .seed = 5});
  std::vector<float> scores(samples * 5);
  std::vector<double> sum(samples * 5), squares(samples * 5);
  Inference<Drawing<Net>> draw(trainer.parameters(), 64);
  for (std::uint64_t round = 0; round < 100; ++round) {
    draw({.seed = 1, .round = round}, x, scores);
    for (std::size_t i = 0; i < scores.size(); ++i) sum[i] += scores[i], squares[i] += scores[i] * scores[i];
  }
  double off = 0, deviation = 0;
  const auto without = trainer.predict(x);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double mean = sum[i] / 100;
    off += std::abs(mean - without[i]) / static_cast<double>(scores.size());
    deviation += std::sqrt(squares[i] / 100 - mean * mean) / static_cast<double>(scores.size());
  }
  EXPECT_GT(deviation, 0.05);
  EXPECT_LT(off, 0.5 * deviation) << "the mean of many is about what is predicted without dropout";
  static_assert(Drawing<Net>::inference_memory(8).transient() > Net::inference_memory(8).transient(),
                "dropped inputs and weights are kept");

  Parameters parameters(Device::cpu());
  const Dropped net(parameters.root());
  parameters.initialize(5);  // as the trainer did
  EagerTape tape(parameters, samples);
  tape.values().bind_random({.on = true, .seed = 1, .round = 99, .step = 99});
  const Tensor eager = value(net.predict(tape.input(x, {9})));
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(eager[static_cast<std::int64_t>(i)], scores[i]) << i;
}

/// Returns the keys of the masks of relu(x) and tanh(x), whose dropouts are recorded in this order.
std::pair<std::int64_t, std::int64_t> masks(bool relu_first) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), a = relu(x), b = tanh(x);
  const Var first = dropout(relu_first ? a : b, 0.5), second = dropout(relu_first ? b : a, 0.5);
  const auto mask_of = [&](Var y) { return tape[y.node().in[1]].attributes.integer[0]; };
  return relu_first ? std::pair(mask_of(first), mask_of(second)) : std::pair(mask_of(second), mask_of(first));
}

TEST(Dropout, MasksBelongToWhatIsDroppedWheneverItIsRecorded) {
  EXPECT_EQ(masks(true), masks(false));
  EXPECT_NE(masks(true).first, masks(true).second);
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  std::set<std::int64_t> keys;
  for (const double rate : {0.5, 0.5, 0.5, 0.25}) keys.insert(tape[dropout(x, rate).node().in[1]].attributes.integer[0]);
  EXPECT_EQ(keys.size(), 4u);
}

TEST(Dropout, RefusesRatesThatAreNone) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  const std::pair<double, const char*> rates[] = {
      {-0.1, "-0.1"}, {1.0, "1"}, {1.0625, "1.0625"}, {-3e-6, "-0.000003"}, {2e12, "1e12 or more"}, {std::nan(""), "NaN"}};
  for (const auto& [rate, text] : rates)
    EXPECT_EQ(error_of<ShapeError>([&, r = rate] { dropout(x, r); }),
              "dropout: a rate of " + std::string(text) + ", which is not in [0, 1)");
}

}  // namespace dropout_test
