// Learning from data that must not leave a device, or not be found in what does: gradients clipped by sample, noise, changes of
// many clients. The code of docs/guides/on-a-device.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "../documented.hpp"

namespace documented_private_test {

using namespace documented;

struct Private {
  static constexpr double most = 0.5;  // the norm to which each sample's gradient is clipped
  nn::Linear hidden, output;
  constexpr explicit Private(Scope s) : hidden(s / "hidden", 8, 16), output(s / "output", 16, 3) {}
  constexpr Var predict(Var x) const { return output(tanh(hidden(x))); }
  constexpr Loss loss(Var x, Var y) const {
    const auto squares = [](Var v) { return sum(square(v), {1}); };
    const Var h = hidden(x), a = tanh(h), scores = output(a), each = cross_entropy(scores, y);
    const std::vector<Var> d = gradients(each, {h, scores});
    const Var norm = sqrt(squares(d[0]) * (squares(x) + 1.0) + squares(d[1]) * (squares(a) + 1.0));  // 1: of the biases
    return {each * stop_gradient(most / maximum(norm, most)), metric("loss", each), metric("clipped", norm > most)};
  }
};
using PrivateNet = Compiled<Private, Inputs<f32[8], i32>>;

template <class Inner>
struct AddNoise {
  Inner inner;
  Scalar deviation = 1.0;  // of the noise in the window's sum
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    const Var noise = value_of(deviation, step) / weight_of_window(step) * normal_like(parameter);
    return apply_rule(inner, parameter, gradient + noise, state, step);
  }
};
template <class Inner, class Number>
AddNoise(Inner, Number) -> AddNoise<Inner>;

/// Returns ε for a δ, after epochs in which each sample was in one window. `noise`: its deviation in units of `most`.
double epsilon(double noise, int epochs, double delta) {
  const double rho = epochs / (2 * noise * noise);  // Bun and Steinke 2016
  return rho + 2 * std::sqrt(rho * std::log(1 / delta));
}

constexpr Var of_steps(Var x, Var d) {  // of a layer that each sample passes at several steps: [batch, steps, width], twice
  return sum(square(matmul(x, d, true)), {1, 2});
}
constexpr Var of_rows(Var ids, Var d) {  // of a table, by several ids of a sample: [batch, n], [batch, n, width]
  const std::int64_t n = ids.shape().extent[1];
  const Var same = reshape(ids, Shape::per_sample({n, 1})) == reshape(ids, Shape::per_sample({1, n}));
  return sum(where(same, matmul(d, d, false, true), 0.0), {1, 2});
}

struct Plain {
  nn::Linear hidden, output;
  constexpr explicit Plain(Scope s) : hidden(s / "hidden", 8, 16), output(s / "output", 16, 3) {}
  constexpr Var predict(Var x) const { return output(tanh(hidden(x))); }
  constexpr Loss loss(Var x, Var y) const { return {cross_entropy(predict(x), y)}; }
};
using PlainNet = Compiled<Plain, Inputs<f32[8], i32>>;

struct Sequence {
  nn::Embedding table;
  nn::Linear layer;
  constexpr explicit Sequence(Scope s) : table(s / "table", 5, 3), layer(s / "layer", 3, 2, {.bias = false}) {}
  constexpr Loss loss(Var ids, Var y) const {
    const Var rows = table(ids), h = layer(rows), each = cross_entropy(sum(sin(h), {1}), y);
    const std::vector<Var> d = gradients(each, {rows, h});
    return {each, metric("norm", sqrt(of_rows(ids, d[0]) + of_steps(rows, d[1])))};
  }
};
using SequenceNet = Compiled<Sequence, Inputs<i32[4], i32>>;

/// Points of three classes.
struct Points {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Points(int samples, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int i = 0; i < samples; ++i) {
      y.push_back(static_cast<std::int32_t>(random() % 3));
      for (int c = 0; c < 8; ++c) x.push_back(normal(random) + 1.5f * std::cos(float(c * y.back())));
    }
  }
};

template <class View>
std::vector<double> copied(const View& values) {
  return {values.begin(), values.end()};
}

/// Returns the sum of single samples' gradients at `at`, clipped in double, and counts those that were.
std::vector<double> clipped_sum(std::span<const float> at, const Points& points, double most, int& clipped) {
  Session one(PlainNet{}, Sgd{}, {.global_batch = 2, .micro_batch = 1});  // no window of which is ever full
  one.set_parameters(at);
  std::vector<double> sum(at.size());
  for (std::size_t i = 0; i < points.y.size(); ++i) {
    one.accumulate(std::span(points.x).subspan(i * 8, 8), std::span(points.y).subspan(i, 1));
    one.close_blocks();
    const auto gradient = one.accumulator();
    const double norm = std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += gradient[k] * std::min(1.0, most / norm);
    one.discard();
    clipped += norm > most;
  }
  return sum;
}

TEST(DocumentedPrivate, SamplesAreClippedOneByOne) {
  const Points points(200, 1);
  const auto& [x, y] = points;
  Session session(PrivateNet{}, Sgd{.learning_rate = 1}, {.global_batch = 201, .micro_batch = 64});
  Session before(PlainNet{}, Adam{.learning_rate = 1e-2}, {.global_batch = 200});
  for (int step = 0; step < 40; ++step) before.accumulate(x, y);  // until some samples have smaller gradients
  session.set_parameters(before.parameters().values());
  int clipped = 0;
  const std::vector<double> sum = clipped_sum(session.parameters().values(), points, Private::most, clipped);
  EXPECT_GT(clipped, 20);
  EXPECT_LT(clipped, 180);
  session.accumulate(x, y);
  session.close_blocks();
  const std::vector<double> learned = copied(session.accumulator());
  for (std::size_t k = 0; k < sum.size(); ++k) EXPECT_NEAR(learned[k], sum[k], 1e-5);
  EXPECT_NEAR(session.evaluate(x, y).metric(PrivateNet::metric("clipped")), clipped / 200.0, 1e-6);
}

TEST(DocumentedPrivate, StepsAndRowsOfOneSampleAreAddedBeforeTheNorm) {
  Session one(SequenceNet{}, Sgd{}, {.global_batch = 2, .micro_batch = 1, .seed = 4});
  for (const std::array<std::int32_t, 4> ids : {std::array{0, 1, 2, 3}, std::array{4, 4, 4, 4}, std::array{1, 0, 1, 2}}) {
    const std::array<std::int32_t, 1> y{ids[1] % 2};
    one.accumulate(ids, y);
    one.close_blocks();
    const auto gradient = one.accumulator();
    const double norm = std::sqrt(std::inner_product(gradient.begin(), gradient.end(), gradient.begin(), 0.0));
    one.discard();
    EXPECT_GT(norm, 0.1);
    EXPECT_NEAR(one.evaluate(ids, y).metric(SequenceNet::metric("norm")), norm, 1e-5 * norm);
  }
}

TEST(DocumentedPrivate, NoiseHasItsDeviationAndBelongsToTheStep) {
  const Points points(200, 1);
  const auto after = [&](double noise, std::uint64_t seed, std::size_t part, int steps = 1) {
    Session session(PrivateNet{}, AddNoise{Sgd{.learning_rate = 1}, noise * Private::most},
                    {.global_batch = 200, .micro_batch = 64, .seed = seed});
    session.set_parameters(Session(PrivateNet{}, Sgd{}, {.global_batch = 1, .seed = 1}).parameters().values());
    for (int step = 0; step < steps; ++step)
      for (std::size_t at = 0; at < 200; at += part)
        session.accumulate(std::span(points.x).subspan(at * 8, part * 8), std::span(points.y).subspan(at, part));
    return copied(session.parameters().values());
  };
  const std::vector<double> silent = after(0, 1, 200), whole = after(1.1, 1, 200), parts = after(1.1, 1, 40);
  EXPECT_EQ(whole, parts);
  EXPECT_NE(whole, after(1.1, 2, 200));
  double squares = 0;
  for (std::size_t k = 0; k < silent.size(); ++k) squares += std::pow((whole[k] - silent[k]) * 200, 2);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(silent.size())), 1.1 * Private::most, 0.15 * Private::most);
  EXPECT_EQ(after(1.1, 1, 200, 3), after(1.1, 1, 40, 3));
}

TEST(DocumentedPrivate, NetsLearnThroughTheNoise) {
  const Points points(2000, 1), later(500, 2);
  std::random_device secret;
  const std::uint64_t seed = (std::uint64_t{secret()} << 32) + secret();
  SCOPED_TRACE(seed);
  constexpr double noise = 8;
  Trainer trainer(PrivateNet{}, AddNoise{Adam{.learning_rate = 2e-2f}, noise * Private::most},
                  {.global_batch = 500, .seed = seed, .tail = Tail::drop});
  const Dataset train(points.x, points.y), test(later.x, later.y);
  trainer.fit(train, {.epochs = 20, .progress = Progress::never});
  const double spent = epsilon(noise, trainer.epoch(), 1e-5);
  EXPECT_NEAR(spent, 20.0 / 128 + 2 * std::sqrt(20.0 / 128 * std::log(1e5)), 1e-9);
  EXPECT_LT(spent, 3);
  EXPECT_GT(ConfusionMatrix(trainer.predict(later.x), later.y).accuracy(), 0.7);
  EXPECT_GT(trainer.evaluate(test).metric(PrivateNet::metric("loss")), trainer.evaluate(test).loss());
}

struct DocumentedClients : testing::Test {
  std::vector<Points> phones;
  DocumentedClients() {
    for (unsigned i = 0; i < 6; ++i) phones.emplace_back(i < 2 ? 128 : 20 + 17 * static_cast<int>(i), 10 + i);
  }
};

TEST_F(DocumentedClients, SendChangesThatAServerAverages) {
  Session server(PlainNet{}, Accumulate{Sgd{.learning_rate = 1}}.in<double>(), {.global_batch = 1});
  Session client(PlainNet{}, Sgd{.learning_rate = 0.1, .momentum = 0.9}, {.global_batch = 16});
  const Checkpoint fresh = client.state();
  for (int round = 0; round < 20; ++round) {
    std::vector<double> sum(PlainNet::parameter_elements), by_hand(sum.size());
    double weight = 0;
    for (const auto& [x, y] : phones) {
      client.restore(fresh);  // no momentum of another's
      client.set_parameters(server.parameters().values());
      client.accumulate(x, y);
      client.flush();
      const auto before = server.parameters().values(), after = client.parameters().values();
      const auto samples = static_cast<double>(y.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += samples * (double{before[i]} - after[i]);
      for (std::size_t i = 0; i < sum.size(); ++i) by_hand[i] += samples * double{after[i]};
      weight += samples;
    }
    server.apply(sum, weight);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(server.parameters().values()[i], by_hand[i] / weight, 1e-7);
  }
  const Points later(500, 2);
  EXPECT_EQ(server.step_count(), 20);
  EXPECT_GT(ConfusionMatrix(server.predict(later.x), later.y).accuracy(), 0.85);
}

TEST_F(DocumentedClients, WhoSendSumsOfABlockMakeTheStepOfOneSession) {
  const auto rule = Adam{.learning_rate = 1e-2f};
  Session server(PlainNet{}, rule, {.global_batch = 256}), central(PlainNet{}, rule, {.global_batch = 256});
  Session client(PlainNet{}, rule, {.global_batch = 129});  // which makes no step
  for (int round = 0; round < 3; ++round) {
    std::vector<float> sum(PlainNet::parameter_elements);
    for (const auto& [x, y] : {phones[0], phones[1]}) {  // 128 samples of each
      client.set_parameters(server.parameters().values());
      client.accumulate(x, y);
      client.close_blocks();
      const auto gradient = client.accumulator();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
      client.discard();
      central.accumulate(x, y);
    }
    server.apply(sum, 256);
    EXPECT_EQ(central.step_count(), server.step_count());
    EXPECT_EQ(differing_bits(server.parameter_bytes(), central.parameter_bytes()), 0);
  }
}

TEST_F(DocumentedClients, AreHiddenByNoiseOnTheirMean) {
  constexpr double most = 0.3, noise = 0.2;
  constexpr std::uint64_t seed = 7;
  Session client(PlainNet{}, Sgd{.learning_rate = 0.1}, {.global_batch = 16});
  Session server(PlainNet{}, Accumulate{AddNoise{Sgd{.learning_rate = 1}, noise * most}}.in<double>(),
                 {.global_batch = 1, .seed = seed});  // a secret one, too
  for (int round = 0; round < 20; ++round) {
    std::vector<double> sum(PlainNet::parameter_elements);
    for (const auto& [x, y] : phones) {
      client.set_parameters(server.parameters().values());
      client.accumulate(x, y);
      client.flush();
      const auto before = server.parameters().values(), after = client.parameters().values();
      double squares = 0;
      for (std::size_t i = 0; i < sum.size(); ++i) squares += std::pow(double{before[i]} - after[i], 2);
      const double share = std::min(1.0, most / std::sqrt(squares));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share * (double{before[i]} - after[i]);
    }
    server.apply(sum, static_cast<double>(phones.size()));
  }
  const Points later(500, 2);
  EXPECT_GT(ConfusionMatrix(server.predict(later.x), later.y).accuracy(), 0.8);
}

TEST_F(DocumentedClients, WithTheSameSeedDrawTheSameNoise) {
  const auto drawn = [&](std::uint64_t seed) {
    Session session(PlainNet{}, AddNoise{Sgd{.learning_rate = 1}, 1.0}, {.global_batch = 1, .seed = seed});
    const std::vector<double> before = copied(session.parameters().values());
    session.apply(std::vector<float>(PlainNet::parameter_elements), 1);
    std::vector<double> change = copied(session.parameters().values());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
    return change;
  };
  EXPECT_EQ(drawn(1), drawn(1));  // as two rounds of sessions made anew
  EXPECT_NE(drawn(1), drawn(2));
}

}  // namespace documented_private_test
