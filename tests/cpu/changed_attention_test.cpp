// Attention whose scores a model changes: packed sequences, and distance biases, which single steps apply as well, as they
// do rotary embeddings.
#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "../both_ways.hpp"

namespace changed_attention_test {

using namespace both_ways;

constexpr std::int64_t width = 8, positions = 7;

/// Several sequences, packed one after another: positions see only their own sequence.
template <nn::Attend Seen, std::int64_t Positions>
struct Packed {
  nn::MultiHeadAttention attention;
  constexpr explicit Packed(Scope s) : attention(s / "attention", width, 2, Seen) {}
  constexpr Var predict(Var x, Var sequence) const {
    const Var one = reshape(sequence, Shape::per_sample({1, Positions, 1})), other = transpose(one, {0, 1, 3, 2});
    return attention(x, {}, [&](Var scores, Var) {
      return where(one == other, scores, -std::numeric_limits<double>::infinity());
    });
  }
  constexpr Loss loss(Var x, Var sequence) const { return sum(square(predict(x, sequence)), {1, 2}); }
};

/// Packs a sequence of `First` positions and one of `Second`.
template <nn::Attend Seen, std::int64_t First, std::int64_t Second>
void expect_bits_of_sequences_alone() {
  constexpr std::int64_t both = First + Second;
  using Model = Packed<Seen, both>;
  using Net = Compiled<Model, Inputs<f32[both][width], i32[both]>>;
  const auto x = numbers(both * width, 5), weights = numbers(static_cast<std::size_t>(Net::parameter_elements));
  std::vector<std::int32_t> sequence(both, 4);
  std::fill_n(sequence.begin() + First, Second, 1);
  std::vector<float> packed(both * width);
  Inference<Net>{weights}(x, sequence, packed);

  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  parameters.initialize(0);
  parameters.copy_from(weights);
  const auto expect_bits_alone = [&](std::int64_t begin, std::int64_t length) {
    const auto part = [&](const auto& all) {
      return std::span(all).subspan(static_cast<std::size_t>(begin * width), static_cast<std::size_t>(length * width));
    };
    EagerTape tape(parameters);
    const Tensor alone = value(net.attention(tape.input(part(x), {length, width})));
    EXPECT_TRUE(std::ranges::equal(alone.values<float>(), part(packed))) << begin;
  };
  expect_bits_alone(0, First);
  expect_bits_alone(First, Second);
}

TEST(ChangedAttention, GivesPackedSequencesTheBitsOfEachAlone) {
  expect_bits_of_sequences_alone<nn::Attend::everywhere, 3, 4>();
  expect_bits_of_sequences_alone<nn::Attend::backward, 3, 4>();
  expect_bits_of_sequences_alone<nn::Attend::everywhere, 37, 70>();  // over several lanes; the second starts in another one
}

/// Scores fall with distance (Press, Smith and Lewis 2022), and distant positions are not seen.
struct Fading {
  nn::MultiHeadAttention attention;
  constexpr explicit Fading(Scope s) : attention(s / "attention", width, 2, nn::Attend::backward, {.rotary = 50}) {}
  static constexpr Var fade(Var scores, Var before) {
    const Var faded = scores - lookup(iota(scores, 1), {0.5, 0.125}) * before;
    return where(before < 4.0, faded, -std::numeric_limits<double>::infinity());
  }
  constexpr Var predict(Var x) const { return attention(x, {}, fade); }
  constexpr Loss loss(Var x) const { return sum(square(predict(x)), {1, 2}); }
};
struct NextPosition : Fading {
  using Fading::Fading;
  constexpr Var predict(Var x, Var keys, Var values, Var place) const {
    const auto [y, kept] = attention.step(x, {keys, values}, place, fade);
    return concat({flatten(kept.keys), flatten(kept.values), y}, 1);
  }
};

TEST(ChangedAttention, TakesStepsToTheBitsOfTheWhole) {
  using Whole = Compiled<Fading, Inputs<f32[positions][width]>>;
  using Next = Compiled<NextPosition, Inputs<f32[width], f32[positions][width], f32[positions][width], i32>>;
  const auto parameters = numbers(static_cast<std::size_t>(Whole::parameter_elements)), x = numbers(positions * width, 5);
  std::vector<float> whole(positions * width), next((2 * positions + 1) * width);
  Inference<Whole>{parameters}(x, whole);
  Inference<Next> step(parameters);
  std::vector<float> keys = numbers(positions * width, 2), values = numbers(positions * width, 3);  // left by others
  for (std::int32_t place = 0; place < positions; ++place) {
    const auto row = [&](const auto& all) { return std::span(all).subspan(static_cast<std::size_t>(place * width), width); };
    step(row(x), keys, values, std::span(&place, 1), next);
    EXPECT_TRUE(std::ranges::equal(row(whole), std::span(next).last(width))) << place;
    std::ranges::copy(std::span(next).first(keys.size()), keys.begin());
    std::ranges::copy(std::span(next).subspan(keys.size(), values.size()), values.begin());
  }
}

TEST(ChangedAttention, LearnsTheSameHoweverAWindowIsSplit) {
  const Samples<float> x{numbers(samples * positions * width), {positions, width}};
  Samples<std::int32_t> sequence{std::vector<std::int32_t>(samples * positions), {positions}};
  for (std::size_t i = 0; i < sequence.values.size(); ++i)
    sequence.values[i] = static_cast<std::int32_t>(i % positions / (1 + i / positions % positions));
  const auto expect_same = [](auto net, auto model, const auto&... data) {
    const auto whole = train_compiled<decltype(net)>({60}, 1, data...);
    EXPECT_EQ(whole, train_compiled<decltype(net)>({7, 1, 30, 22}, 1, data...));
    EXPECT_EQ(whole, train_eager<typename decltype(model)::type>({7, 1, 30, 22}, data...));
  };
  using Model = Packed<nn::Attend::backward, positions>;
  expect_same(Compiled<Model, Inputs<f32[positions][width], i32[positions]>>{}, std::type_identity<Model>{}, x, sequence);
  expect_same(Compiled<Fading, Inputs<f32[positions][width]>>{}, std::type_identity<Fading>{}, x);
}

}  // namespace changed_attention_test
