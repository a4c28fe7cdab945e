// Noise between 0 and 1: dependent on the sample and not on the micro-batch, never 0 or 1, and 0.5 in evaluation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../eager_against_compiled.hpp"

namespace uniform_noise_test {

using namespace against_reference;

/// Nine numbers through one of six codes, by Gumbel-softmax (Jang et al. 2017), each of which is left out half of the time.
struct Codes {
  nn::Linear encode, decode;
  Parameter kept;
  constexpr explicit Codes(Scope s)
      : encode(s / "encode", 9, 6), decode(s / "decode", 6, 9), kept(s.parameter("kept", Shape{6}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const {
    const Var scores = encode(x), weights = kept.on(x);
    const Var code = softmax((scores - log(-log(uniform_like(scores)))) / 0.5) * (uniform_like(weights) < weights);
    return Loss(sum(square(decode(code) - x), {1}));
  }
};
using Net = Compiled<Codes, Inputs<f32[9]>>;

TEST(UniformNoise, HasTheBitsOfTheReferenceAndOfTheEagerRun) {
  const auto x = numbers(samples * 9);
  expect_equal_bits<Net>({x}, std::span(x));
  const std::vector<double> wide(x.begin(), x.end());
  expect_equal_bits<Compiled<Codes, Inputs<f64[9]>>>({wide}, std::span(wide));
  expect_equal_bits_eagerly<Codes>();
}

struct Drawn {
  Parameter unused;
  constexpr explicit Drawn(Scope s) : unused(s.parameter("unused", Shape{}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return {uniform_like(x) + unused}; }
};
using DrawnNet = Compiled<Drawn, Inputs<f32>>;

TEST(UniformNoise, IsUniformAndNeverAtAnEnd) {
  const std::vector<float> x(20'000);
  Session session(DrawnNet{}, Accumulate{Sgd{}}, {.global_batch = 20'000, .evaluate_drawing = true});
  std::vector<float> drawn = session.losses(x);
  std::ranges::sort(drawn);
  for (std::size_t i = 0; i < drawn.size(); ++i) {  // Kolmogorov's distance: 0.0138 once in a thousand
    EXPECT_NEAR(drawn[i], (static_cast<double>(i) + 0.5) / 20'000, 0.0138) << i;
    EXPECT_EQ(std::fmod(drawn[i] * 0x1p24, 2), 1) << "no middle of a part";
  }
  Session still(DrawnNet{}, Accumulate{Sgd{}}, {.global_batch = 20'000});
  EXPECT_EQ(still.evaluate(x).loss(), 0.5);
}

TEST(UniformNoise, IsApartFromNormalNoiseOfTheSameValue) {
  Tape tape;
  const Var in = input(tape, Shape::per_sample({10}), DType::f32), normal = normal_like(in), one = uniform_like(in),
            other = uniform_like(in);
  EXPECT_NE(normal.attributes().integer[0], one.attributes().integer[0]);
  EXPECT_NE(one.attributes().integer[0], other.attributes().integer[0]);
  EXPECT_THROW(uniform_like(argmax(in)), TypeError);
  EXPECT_THROW(uniform_like(transpose(in, {1, 0})), ShapeError);
  tape.training = false;
  EXPECT_EQ(uniform_like(in).attributes().number, 0.5);
}

}  // namespace uniform_noise_test
