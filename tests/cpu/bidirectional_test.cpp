// Bidirectional recurrent layers: two layers, one of which reads the sequence in reverse; also for sequences that end early.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace bidirectional_test {

using namespace both_ways;

constexpr std::int64_t features = 2, steps = 3, width = 3, batch = 5;

Var turned_round(Var x) {
  std::vector<Var> parts;
  for (std::int64_t t = x.shape().extent[1]; t-- > 0;) parts.push_back(slice(x, 1, t, 1));
  return concat(parts, 1);
}

template <class Layer>
struct Bidirectional : testing::Test {};
using Layers = testing::Types<nn::Gru, nn::Lstm>;
TYPED_TEST_SUITE(Bidirectional, Layers);

void expect_near(Var a, Var b) {
  const Tensor left = value(a), right = value(b);
  for (std::int64_t i = 0; i < a.shape().elements(batch); ++i) EXPECT_NEAR(left[i], right[i], 1e-13) << i;
}

TYPED_TEST(Bidirectional, AreTwoLayersOfWhichOneReadsBackward) {
  ParametersIn<double> parameters(Device::cpu());
  const nn::Bidirectional<TypeParam> both(parameters.root() / "both", features, width);
  const TypeParam forward(parameters.root() / "forward", features, width);
  const TypeParam backward(parameters.root() / "backward", features, width);
  parameters.initialize(3);
  EXPECT_EQ(parameters.declared()[4].name.view(), "both/backward/input/weight");
  const auto values = parameters.values();
  std::copy_n(values.begin(), values.size() / 2, values.begin() + std::ssize(values) / 2);
  const auto x = numbers_in<double>(batch * steps * features);
  std::vector<double> present(batch * steps);
  for (std::size_t i = 0; i < present.size(); ++i) present[i] = i % steps <= i / steps % steps ? 1 : 0;
  for (const bool some : {false, true}) {
    EagerTape tape(parameters, batch);
    const Var in = tape.input(x, {steps, features}), given = tape.input(present, {steps}), there = some ? given : Var{};
    const std::vector<Var> states = both(in, there), onward = forward(in, {}, there),
                           back = backward(turned_round(in), {}, some ? turned_round(given) : Var{});
    ASSERT_EQ(states.size(), static_cast<std::size_t>(steps));
    Var sum_of_both, sum_of_two;
    for (std::size_t t = 0; t < steps; ++t) {
      const Var expected = concat({onward[t], back[steps - 1 - t]}, 1);
      expect_near(states[t], expected);
      const Var a = sin(states[t]), b = sin(expected);
      sum_of_both = t == 0 ? a : sum_of_both + a, sum_of_two = t == 0 ? b : sum_of_two + b;
    }
    const Var summary = both.summary(in, there);
    expect_near(summary, concat({onward.back(), back.back()}, 1));
    expect_near(gradients(sum_of_both, {in})[0], gradients(sum_of_two, {in})[0]);
    for (int p = 0; p < 8; ++p)
      expect_near(gradients(sum_of_both, {parameter(tape, p)})[0], gradients(sum_of_two, {parameter(tape, 8 + p)})[0]);
  }
}

template <class Layer>
struct Model {
  nn::Bidirectional<Layer> layer;
  nn::Linear output;
  constexpr explicit Model(Scope s) : layer(s / "layer", features, width), output(s / "output", 2 * width, 1) {}
  constexpr Var predict(Var x, Var present) const { return output(layer.summary(x, present)); }
  constexpr Loss loss(Var x, Var present) const {
    const Var all = stack(layer(x, present), 1);
    return {sum(square(output(all)), {1, 2}) + sum(square(predict(x, present)), {1})};
  }
};
template <class Layer>
using Net = Compiled<Model<Layer>, Inputs<f32[steps][features], f32[steps]>>;

/// The model for a sequence without padding, run eagerly.
template <class Layer>
struct Shorter : Model<Layer> {
  using Model<Layer>::Model;
  constexpr Var predict(Var x) const { return this->output(this->layer.summary(x)); }
};

TYPED_TEST(Bidirectional, HaveTheBitsOfTheShorterSequence) {
  auto x = numbers(steps * features);
  for (std::size_t i = 2 * features; i < x.size(); ++i) x[i] *= 1e4f;  // must not be seen
  const auto weights = numbers(Net<TypeParam>::parameter_elements);
  Parameters parameters(Device::cpu());
  const Shorter<TypeParam> shorter(parameters.root());
  parameters.initialize(1);
  parameters.copy_from(weights);
  EagerTape tape(parameters, 1);
  const Tensor alone = value(shorter.predict(tape.input(std::span(x).first(2 * features), {2, features})));
  std::vector<float> padded(1);
  Inference<Net<TypeParam>>{weights}(x, std::vector<float>{1, 1, 0}, padded);
  EXPECT_EQ(alone.item(), padded[0]);
}

TYPED_TEST(Bidirectional, SplitsEagerAndCompiledGiveEqualBits) {
  const Samples<float> x{numbers(samples * steps * features), {steps, features}};
  Samples<float> present{std::vector<float>(samples * steps), {steps}};
  for (std::size_t i = 0; i < present.values.size(); ++i)
    present.values[i] = i % steps <= i / steps % steps ? 1.0f : 0.0f;
  const std::vector<float> whole = train_compiled<Net<TypeParam>>({60}, 1, x, present);
  EXPECT_EQ(whole, train_compiled<Net<TypeParam>>({7, 1, 30, 22}, 1, x, present));
  EXPECT_EQ(whole, train_eager<Model<TypeParam>>({13, 21}, x, present));
}

template <class Layer>
constexpr bool keeps_the_first_error() {
  Tape tape;
  const nn::Bidirectional<Layer> layer(Scope(tape.parameters) / "layer", 1, 2);
  const Var x = input(tape, Shape::per_sample({4}), DType::f32);
  return layer(x).size() == 4 && !layer(x).back().valid() && !layer.summary(x).valid() &&
         tape.error.view().ends_with("needs [batch, steps, in], got [batch, 4]");
}
static_assert(keeps_the_first_error<nn::Gru>() && keeps_the_first_error<nn::Lstm>());

}  // namespace bidirectional_test
