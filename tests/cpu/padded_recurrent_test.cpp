// Recurrent layers over sequences that end early: the last state has the bits of the shorter sequence, forward and backward,
// compiled and eagerly.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace padded_recurrent_test {

using namespace both_ways;

constexpr std::int64_t features = 2, longest = 3, width = 4;

template <class Layer>
struct Padded {
  Layer layer;
  constexpr explicit Padded(Scope s) : layer(s / "layer", features, width) {}
  constexpr Var predict(Var x, Var present) const { return layer(x, {}, present).back(); }
  constexpr Loss loss(Var x, Var present) const { return sum(square(predict(x, present)), {1}); }
};
template <class Layer>
struct Unpadded {
  Layer layer;
  constexpr explicit Unpadded(Scope s) : layer(s / "layer", features, width) {}
  constexpr Var predict(Var x) const { return layer(x).back(); }
  constexpr Loss loss(Var x) const { return sum(square(predict(x)), {1}); }
};

/// Compares with the shorter sequence in an eager net, which learns the length at run time.
template <class Layer>
void expect_bits_of_the_shorter_sequence(std::int64_t steps) {
  using Net = Compiled<Padded<Layer>, Inputs<f32[longest][features], f32[longest]>>;
  const auto elements = static_cast<std::size_t>(steps * features);
  auto x = numbers(longest * features, 5);
  for (std::size_t i = elements; i < x.size(); ++i) x[i] *= 1e4f;  // must not be seen
  std::vector<float> present(longest, 0.0f), state(width);
  std::fill_n(present.begin(), steps, 1.0f);

  Parameters parameters(Device::cpu());
  const Unpadded<Layer> net(parameters.root());
  Session alone(parameters, optimizer, {.global_batch = 1});
  Session padded(Net{}, optimizer, {.global_batch = 1});
  const auto weights = numbers(static_cast<std::size_t>(Net::parameter_elements));
  parameters.copy_from(weights);
  padded.set_parameters(weights);
  const auto in = [&](EagerTape& tape) { return tape.input(std::span(x).first(elements), {steps, features}); };
  {
    EagerTape tape(parameters, 1);
    Inference<Net>{weights}(x, present, state);
    EXPECT_TRUE(std::ranges::equal(value(net.predict(in(tape))).template values<float>(), state)) << steps << " steps";
  }
  alone.accumulate(1, [&](EagerTape& tape) { return net.loss(in(tape)); });
  padded.accumulate(x, present);
  EXPECT_TRUE(std::ranges::equal(parameters.values(), padded.parameters().values())) << steps << " steps";
}

template <class Layer>
struct PaddedRecurrent : testing::Test {};
using Layers = testing::Types<nn::Gru, nn::Lstm>;
TYPED_TEST_SUITE(PaddedRecurrent, Layers);

TYPED_TEST(PaddedRecurrent, HasTheBitsOfTheShorterSequence) {
  for (std::int64_t steps = 1; steps <= longest; ++steps) expect_bits_of_the_shorter_sequence<TypeParam>(steps);
}

TYPED_TEST(PaddedRecurrent, SplitsEagerAndCompiledGiveEqualBits) {
  using Model = Padded<TypeParam>;
  using Net = Compiled<Model, Inputs<f32[longest][features], f32[longest]>>;
  const Samples<float> x{numbers(samples * longest * features), {longest, features}};
  Samples<float> present{std::vector<float>(samples * longest), {longest}};
  for (std::size_t i = 0; i < present.values.size(); ++i)
    present.values[i] = i % longest <= i / longest % longest ? 1.0f : 0.0f;
  const std::vector<float> whole = train_compiled<Net>({60}, 1, x, present);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 1, x, present));
  EXPECT_EQ(whole, train_eager<Model>({13, 21}, x, present));
}

TEST(PaddedRecurrentLayers, SayWhatDoesNotFit) {
  Parameters parameters(Device::cpu());
  const Padded<nn::Gru> model(parameters.root());
  parameters.initialize(1);
  EagerTape tape(parameters, 1);
  const std::vector<float> x(longest * features), present(longest - 1);
  const Var in = tape.input(x, {longest, features}), there = tape.input(present, {longest - 1});
  EXPECT_EQ(error_of<ShapeError>([&] { model.predict(in, there); }),
            "gru: `present` for [batch, 3, 2] must be [batch, 3], got [batch, 2]");
}

}  // namespace padded_recurrent_test
