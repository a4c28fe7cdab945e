// Random numbers in shapes without samples: those of a model's weights, or of an update rule's operands. All samples of a
// window share them, and each step draws others, whatever the split.
#include <gtest/gtest.h>

#include <set>

#include <gradual/check/test_rule.hpp>

#include "../compiled_against_reference.hpp"
#include "../error_of.hpp"

namespace draws_of_a_step_test {

using namespace against_reference;

/// Weights with dropout (DropConnect), and weights drawn from a distribution (Blundell et al. 2015), which are also squared so
/// that backward needs the draws.
struct Uncertain {
  nn::Linear hidden;
  Parameter mean, spread;
  constexpr explicit Uncertain(Scope s)
      : hidden(s / "hidden", 9, 6),
        mean(s.parameter("mean", Shape{6, 2}, init::uniform(0.5))), spread(s.parameter("spread", Shape{6, 2}, init::constant(-1))) {}
  constexpr Var predict(Var x) const {
    const Var kept = dropout(hidden.weight().on(x), 0.25);
    const Var h = tanh(matmul(x, kept) + hidden.bias());
    const Var noise = normal_like(mean.on(x));
    const Var drawn = mean.on(x) + softplus(spread.on(x)) * noise;
    return matmul(h, drawn + 0.1 * square(drawn));
  }
  constexpr Loss loss(Var x, Var y) const { return Loss(sum(square(predict(x) - y), {1})); }
};
using Net = Compiled<Uncertain, Inputs<f32[9], f32[2]>>;

/// Langevin dynamics (Welling and Teh 2011): after many steps parameters are samples of exp(−loss).
struct Langevin {
  Scalar learning_rate = 0.1;
  constexpr auto operator()(Var p, Var g, NoState state) const {
    const Var deviation = sqrt(2.0 * value_of(learning_rate, p));
    return update(p - learning_rate * g + deviation * normal_like(p), state);
  }
};

TEST(DrawsOfAStep, HaveTheBitsOfTheReferenceAndOfTheEagerRun) {
  const auto x = numbers(samples * 9), y = numbers(samples * 2, 2);
  expect_equal_bits<Net>({x, y}, std::span(x), std::span(y));
  Parameters parameters(Device::cpu());
  const Uncertain net(parameters.root());
  const SessionOptions options{.global_batch = samples, .seed = 3};
  Session eager(parameters, Accumulate{Adam{}}, options);
  Session whole(Net{}, Accumulate{Adam{}}, options), compiled(Net{}, Accumulate{Adam{}}, options);
  for (int step = 0; step < 3; ++step) {
    for (std::size_t at = 0; const std::size_t part : {7, 100, 1, 192}) {
      compiled.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at * 2, part * 2));
      at += part;
    }
    whole.accumulate(x, y);
    eager.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y, {2})); });
    EXPECT_EQ(compiled.last_window().loss(), eager.last_window().loss());
  }
  EXPECT_EQ(compiled.step_count(), 3);
  EXPECT_EQ(differing_bits(compiled.parameter_bytes(), whole.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);
}

/// An evaluation draws nothing, nor does it change what the window has drawn.
TEST(DrawsOfAStep, OutliveAnEvaluationInsideAWindow) {
  const auto x = numbers(60 * 9), y = numbers(60 * 2, 2);
  const SessionOptions options{.global_batch = 60, .seed = 3};
  Session session(Net{}, Accumulate{Sgd{}}, options), other(Net{}, Accumulate{Sgd{}}, options);
  const double loss = other.evaluate(x, y).loss();
  EXPECT_EQ(loss, other.evaluate(x, y).loss());
  session.accumulate(x, y);
  EXPECT_NE(session.last_window().loss(), loss);
  for (int part = 0; part < 3; ++part) {
    other.accumulate(std::span(x).subspan(180 * static_cast<std::size_t>(part), 180),
                     std::span(y).subspan(40 * static_cast<std::size_t>(part), 40));
    if (part == 2) break;
    EXPECT_EQ(other.evaluate(x, y).loss(), loss);
  }
  EXPECT_EQ(session.last_window().loss(), other.last_window().loss());
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
  session.accumulate(std::span(x).first(9), std::span(y).first(2));
  other.accumulate(std::span(x).first(9), std::span(y).first(2));
  const double now = other.evaluate(x, y).loss();
  EXPECT_NE(now, loss);
  session.flush(), other.flush();
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0) << "a window that ends behind one";
}

TEST(DrawsOfAStep, AreThoseOfAStateInsideAWindow) {
  const auto x = numbers(60 * 9), y = numbers(60 * 2, 2);
  const SessionOptions options{.global_batch = 60, .seed = 3};
  Session session(Net{}, Accumulate{Langevin{}}, options), other(Net{}, Accumulate{Langevin{}}, {.global_batch = 60});
  session.accumulate(x, y);
  session.accumulate(std::span(x).first(180), std::span(y).first(40));
  other.restore(session.state());
  for (auto* each : {&session, &other}) each->accumulate(std::span(x).subspan(180), std::span(y).subspan(40));
  EXPECT_EQ(session.step_count(), 2);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
}

TEST(DrawsOfAStep, OfPredictionsAreOfEachDraw) {
  const auto x = numbers(10 * 9);
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 10, .seed = 3});
  Inference<Drawing<Net>> whole(session.parameters().values(), 10), parts(session.parameters().values(), 3);
  std::vector<float> first(20), again(20), other(20);
  whole({.seed = 3, .round = 1}, x, first);
  parts({.seed = 3, .round = 1}, x, again);
  whole({.seed = 3, .round = 2}, x, other);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_NE(first, session.predict(x));
  Inference<Net> plain(session.parameters().values(), 10);
  plain(x, again);
  EXPECT_EQ(again, session.predict(x));
}

/// Half the squared distance of each element from x.
struct Bowl {
  Parameter place;
  constexpr explicit Bowl(Scope s) : place(s.parameter("place", Shape{4000}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(0.5 * sum(square(place - x), {1})); }
};

TEST(DrawsOfAStep, OfRulesAreSamplesOfTheDistributionThatTheyDescend) {
  const std::vector<float> x(4000, 1.0f);
  const SessionOptions options{.global_batch = 1, .seed = 5};
  Session session(Compiled<Bowl, Inputs<f32[4000]>>{}, Accumulate{Langevin{}}, options);
  Parameters parameters(Device::cpu());
  const Bowl net(parameters.root());
  Session eager(parameters, Accumulate{Langevin{}}, options);
  for (int step = 0; step < 60; ++step) {
    session.accumulate(x);
    eager.accumulate(1, [&](EagerTape& tape) { return net.loss(tape.input(x, {4000})); });
  }
  double mean = 0, square = 0;
  const auto values = session.parameters().values();
  for (const float value : values) mean += value / 4000.0, square += value * value / 4000.0;
  EXPECT_NEAR(mean, 1, 0.08);                               // the mean of 4000: a deviation of 0.016
  EXPECT_NEAR(square - mean * mean, 1 / (1 - 0.05), 0.12);  // 2·0.1/(1 − 0.9²); a deviation of 0.024
  EXPECT_EQ(std::set<float>(values.begin(), values.end()).size(), 4000u);
  EXPECT_EQ(differing_bits(std::as_bytes(session.parameters().values()), eager.parameter_bytes()), 0);
}

TEST(DrawsOfAStep, OfRulesAreTheSameWhereGradientsAreGiven) {
  const auto x = numbers(20 * 9), y = numbers(20 * 2, 2);
  const SessionOptions options{.global_batch = 20, .seed = 5};
  Session whole(Net{}, Accumulate{Langevin{}}, options), given(Net{}, Accumulate{Langevin{}}, options);
  for (int step = 0; step < 2; ++step) {
    whole.accumulate(x, y);
    given.apply(whole.accumulator(), 20);
    EXPECT_EQ(differing_bits(whole.parameter_bytes(), given.parameter_bytes()), 0);
  }
}

TEST(DrawsOfAStep, OfRulesAreThoseOfTheReferenceAndLeaveWhatIsFrozen) {
  const RuleCheck check = test_rule(Langevin{.learning_rate = 0.01});
  EXPECT_TRUE(check.mistakes.empty()) << check;
  const auto x = numbers(20 * 9), y = numbers(20 * 2, 2);
  Session all(Net{}, Accumulate{Langevin{}}, {.global_batch = 20, .seed = 5});
  Session some(Net{}, Accumulate{Langevin{}}, {.global_batch = 20, .seed = 5, .freeze = {"mean"}});
  const auto before = some.parameters();
  const std::vector<float> mean(before["mean"].values.begin(), before["mean"].values.end());
  all.accumulate(x, y), some.accumulate(x, y);
  EXPECT_TRUE(std::ranges::equal(some.parameters()["mean"].values, mean));
  EXPECT_FALSE(std::ranges::equal(all.parameters()["mean"].values, mean));
  for (const char* name : {"hidden/weight", "spread"})
    EXPECT_TRUE(std::ranges::equal(some.parameters()[name].values, all.parameters()[name].values)) << name;
}

}  // namespace draws_of_a_step_test
