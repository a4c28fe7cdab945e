// Noise in a model: normally distributed, dependent on the sample and not on the micro-batch, and none in evaluation.
#include <gtest/gtest.h>

#include "../eager_against_compiled.hpp"

namespace normal_noise_test {

using namespace against_reference;

/// A variational autoencoder of nine numbers with a code of two.
struct Autoencoder {
  nn::Linear encode, decode;
  constexpr explicit Autoencoder(Scope s) : encode(s / "encode", 9, 4), decode(s / "decode", 2, 9) {}
  constexpr Var predict(Var x) const { return decode(split<2>(encode(x))[0]); }
  constexpr Loss loss(Var x) const {
    const auto [mean, log_variance] = split<2>(encode(x));
    const Var code = mean + exp(0.5 * log_variance) * normal_like(mean);
    const Var divergence = 0.5 * sum(square(mean) + exp(log_variance) - log_variance - 1.0, {1});
    return Loss(sum(square(decode(code) - x), {1}) + 0.01 * divergence);
  }
};
using Net = Compiled<Autoencoder, Inputs<f32[9]>>;

TEST(NormalNoise, HasTheBitsOfTheReferenceAndOfTheEagerRun) {
  const auto x = numbers(samples * 9);
  expect_equal_bits<Net>({x}, std::span(x));
  expect_equal_bits_eagerly<Autoencoder>();
}

TEST(NormalNoise, IsNoneInEvaluationAndInference) {
  const auto x = numbers(60 * 9);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 60, .seed = 3});
  const double first = session.evaluate(x).loss();
  EXPECT_EQ(first, session.evaluate(x).loss());
  session.accumulate(x);
  EXPECT_NE(session.last_window().loss(), first);
}

struct Moments {
  Parameter shift;
  constexpr explicit Moments(Scope s) : shift(s.parameter("shift", Shape{100}, init::constant(0))) {}
  constexpr Loss loss(Var x) const {
    const Var z = normal_like(x) + shift, of_sample = mean(z, {1});
    return Loss(of_sample, metric("square", mean(square(z), {1})), metric("fourth", mean(square(square(z)), {1})),
                metric("largest", max(abs(z), {1})), metric("neighbours", mean(slice(z, 1, 0, 99) * slice(z, 1, 1, 99), {1})));
  }
};

TEST(NormalNoise, HasTheMomentsOfTheNormalDistribution) {
  const std::vector<float> x(1000 * 100);
  Session session(Compiled<Moments, Inputs<f32[100]>>{}, Accumulate{Sgd{.learning_rate = 0}}, {.global_batch = 1000, .seed = 1});
  double before = 0;
  for (int step = 0; step < 3; ++step) {  // of 100 000 numbers: deviations of 0.003, 0.0045, 0.03 and 0.003
    session.accumulate(x);
    const Averages& averages = session.last_window();
    EXPECT_NEAR(averages.loss(), 0, 0.015);
    EXPECT_NEAR(averages.metric(0), 1, 0.02);
    EXPECT_NEAR(averages.metric(1), 3, 0.15);
    EXPECT_NEAR(averages.metric(2), 2.75, 0.25);  // the largest of 100
    EXPECT_NEAR(averages.metric(3), 0, 0.015);
    EXPECT_NE(averages.loss(), before);
    before = averages.loss();
  }
}

TEST(NormalNoise, OfTwoOfOneValueAreTwo) {
  Tape tape;
  const Var in = input(tape, Shape::per_sample({10}), DType::f32), one = normal_like(in), other = normal_like(in);
  EXPECT_NE(one.attributes().integer[0], other.attributes().integer[0]);
  EXPECT_THROW(normal_like(argmax(in)), TypeError);
  EXPECT_THROW(normal_like(transpose(in, {1, 0})), ShapeError);
  tape.training = false;
  EXPECT_TRUE(is<Constant>(normal_like(in).node()));
}

}  // namespace normal_noise_test
