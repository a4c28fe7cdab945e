// Attention over sequences that end early: padding after the end changes no bit, forward and backward, compiled and eagerly.
#include <gtest/gtest.h>

#include <cmath>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace padded_attention_test {

using namespace both_ways;

constexpr std::int64_t width = 6, longest = 7;

template <nn::Attend Seen>
struct Padded {
  nn::MultiHeadAttention attention;
  constexpr explicit Padded(Scope s) : attention(s / "attention", width, 2, Seen) {}
  constexpr Var predict(Var x, Var present) const { return attention(x, present); }
  constexpr Loss loss(Var x, Var present) const {
    const Var y = predict(x, present), counts = broadcast(reshape(present, Shape::per_sample({longest, 1})), y.shape());
    return sum(square(y) * counts, {1, 2});
  }
};
template <nn::Attend Seen, std::int64_t Positions>
struct Unpadded {
  nn::MultiHeadAttention attention;
  constexpr explicit Unpadded(Scope s) : attention(s / "attention", width, 2, Seen) {}
  constexpr Var predict(Var x) const { return attention(x); }
};

/// Three learned queries to a sequence.
struct Asking {
  Parameter questions;
  nn::CrossAttention attention;
  constexpr explicit Asking(Scope s)
      : questions(s.parameter("questions", Shape{3, width}, init::normal(1))), attention(s / "attention", width, width, 2) {}
  constexpr Var predict(Var x, Var present) const {
    const Var asked = broadcast(questions.on(x), Shape::per_sample({3, width}));
    return present.valid() ? attention(asked, x, present) : attention(asked, x);
  }
  constexpr Loss loss(Var x, Var present) const { return sum(square(predict(x, present)), {1, 2}); }
};
template <std::int64_t Positions>
struct AskingUnpadded : Asking {
  using Asking::Asking;
  constexpr Var predict(Var x) const { return Asking::predict(x, {}); }
};

/// `Outputs`: positions of the prediction; 0: as many as x has.
template <class Longer, class Shorter, std::int64_t Positions, std::int64_t Outputs = 0>
void expect_bits_of_the_shorter_sequence() {
  using Net = Compiled<Longer, Inputs<f32[longest][width], f32[longest]>>;
  using Short = Compiled<Shorter, Inputs<f32[Positions][width]>>;
  const auto weights = numbers(static_cast<std::size_t>(Net::parameter_elements));
  auto x = numbers(longest * width, 5);
  for (std::size_t i = Positions * width; i < x.size(); ++i) x[i] *= 1e4f;  // must not be seen
  std::vector<float> present(longest, 0.0f);
  std::vector<float> padded((Outputs == 0 ? longest : Outputs) * width), alone((Outputs == 0 ? Positions : Outputs) * width);
  std::fill_n(present.begin(), Positions, 1.0f);
  Inference<Net>{weights}(x, present, padded);
  Inference<Short>{weights}(std::span(x).first(Positions * width), alone);
  padded.resize(alone.size());
  EXPECT_EQ(padded, alone) << Positions << " positions";
}

TEST(PaddedAttention, HasTheBitsOfTheShorterSequence) {
  using enum nn::Attend;
  expect_bits_of_the_shorter_sequence<Padded<everywhere>, Unpadded<everywhere, 1>, 1>();
  expect_bits_of_the_shorter_sequence<Padded<everywhere>, Unpadded<everywhere, 4>, 4>();
  expect_bits_of_the_shorter_sequence<Padded<everywhere>, Unpadded<everywhere, 7>, 7>();
  expect_bits_of_the_shorter_sequence<Padded<backward>, Unpadded<backward, 4>, 4>();
  expect_bits_of_the_shorter_sequence<Asking, AskingUnpadded<1>, 1, 3>();
  expect_bits_of_the_shorter_sequence<Asking, AskingUnpadded<4>, 4, 3>();
}

template <class Model>
void expect_nothing_learned_from_what_is_not_there() {
  using Net = Compiled<Model, Inputs<f32[longest][width], f32[longest]>>;
  Samples<float> x{numbers(samples * longest * width), {longest, width}}, present{numbers(samples * longest), {longest}};
  Samples<float> other = x;
  for (std::size_t i = 0; i < present.values.size(); ++i) {
    const std::size_t length = i / longest % (longest + 1);  // every eighth sample is empty, and nothing is NaN
    present.values[i] = i % longest < length ? 1.0f : 0.0f;
    if (i % longest >= length) std::fill_n(other.values.begin() + static_cast<std::ptrdiff_t>(i) * width, width, 0.25f);
  }
  const auto whole = train_compiled<Net>({60}, 1, x, present);
  for (const float value : whole) EXPECT_TRUE(std::isfinite(value));
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 1, other, present));
  EXPECT_EQ(whole, train_eager<Model>({60}, x, present));
  EXPECT_EQ(whole, train_eager<Model>({7, 1, 30, 22}, other, present));
}

TEST(PaddedAttention, LearnsNothingFromWhatIsNotThere) {
  expect_nothing_learned_from_what_is_not_there<Padded<nn::Attend::everywhere>>();
  expect_nothing_learned_from_what_is_not_there<Asking>();
}

TEST(PaddedAttention, RefusesOtherShapes) {
  Parameters parameters(Device::cpu());
  const nn::MultiHeadAttention attention(parameters.root(), width, 2);
  parameters.initialize(1);
  EagerTape tape(parameters, 2);
  const auto values = numbers(2 * longest * width);
  const Var x = tape.input(std::span<const float>(values), {longest, width});
  const Var present = tape.input(std::span<const float>(values).first(2 * 5), {5});
  EXPECT_EQ(error_of<ShapeError>([&] { attention(x, present); }),
            "attention: `present` for [batch, 7, 6] must be [batch, 7], got [batch, 5]");
}

}  // namespace padded_attention_test
