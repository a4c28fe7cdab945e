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

/// Three learned queries to a sequence.
struct Asking {
  Parameter questions;
  nn::CrossAttention attention;
  constexpr explicit Asking(Scope s)
      : questions(s.parameter("questions", Shape{3, width}, init::normal(1))), attention(s / "attention", width, width, 2) {}
  constexpr Var predict(Var x, Var present) const {
    const Var asked = broadcast(questions.on(x), Shape::per_sample({3, width}));
    return attention(asked, x, present);
  }
  constexpr Loss loss(Var x, Var present) const { return sum(square(predict(x, present)), {1, 2}); }
};

/// `outputs`: positions of the prediction for the longest sequence.
template <class Model>
void expect_bits_of_the_shorter_sequence(std::int64_t positions, std::int64_t outputs) {
  using Net = Compiled<Model, Inputs<f32[longest][width], f32[longest]>>;
  const auto weights = numbers(static_cast<std::size_t>(Net::parameter_elements));
  const auto given = static_cast<std::size_t>(positions * width);
  auto x = numbers(longest * width, 5);
  for (std::size_t i = given; i < x.size(); ++i) x[i] *= 1e4f;  // must not be seen
  std::vector<float> present(longest, 0.0f), padded(static_cast<std::size_t>(outputs * width));
  std::fill_n(present.begin(), positions, 1.0f);
  Inference<Net>{weights}(x, present, padded);

  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  parameters.initialize(0);
  parameters.copy_from(weights);
  EagerTape tape(parameters);
  const Tensor alone = value(net.predict(tape.input(std::span(x).first(given), {positions, width}), {}));
  padded.resize(static_cast<std::size_t>(alone.size()));
  EXPECT_TRUE(std::ranges::equal(padded, alone.values<float>())) << positions << " positions";
}

TEST(PaddedAttention, HasTheBitsOfTheShorterSequence) {
  using enum nn::Attend;
  for (const std::int64_t positions : {1, 4, 7})
    expect_bits_of_the_shorter_sequence<Padded<everywhere>>(positions, longest);
  expect_bits_of_the_shorter_sequence<Padded<backward>>(4, longest);
  for (const std::int64_t positions : {1, 4}) expect_bits_of_the_shorter_sequence<Asking>(positions, 3);
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
