// Weights by the class of a label, looked up in a list: the bits of weights that are given as an input.
#include <gtest/gtest.h>

#include <limits>

#include "../models.hpp"

namespace class_weights_test {

using namespace models;

struct Given {
  nn::Linear layer;
  constexpr explicit Given(Scope s) : layer(s / "layer", 4, 3) {}
  constexpr Loss loss(Var x, Var label, Var weight) const { return Loss(cross_entropy(layer(x), label)).weighted_by(weight); }
};
struct ByClass {
  nn::Linear layer;
  constexpr explicit ByClass(Scope s) : layer(s / "layer", 4, 3) {}
  constexpr Loss loss(Var x, Var label) const {
    return Loss(cross_entropy(layer(x), label)).weighted_by(lookup(label, {0.25, 1, 3}));
  }
};

TEST(ClassWeights, HaveTheBitsOfGivenOnes) {
  constexpr int samples = 48;
  const auto x = numbers(samples * 4);
  const auto y = labels(samples, 3);
  std::vector<float> weight;
  for (const std::int32_t label : y) weight.push_back(label == 0 ? 0.25f : label == 1 ? 1.0f : 3.0f);
  Session given(Compiled<Given, Inputs<f32[4], i32, f32>>{}, Accumulate{Adam{}}, {.global_batch = samples});
  Session by_class(Compiled<ByClass, Inputs<f32[4], i32>>{}, Accumulate{Adam{}}, {.global_batch = samples, .micro_batch = 7});
  given.accumulate(x, y, weight);
  by_class.accumulate(x, y);
  EXPECT_EQ(given.last_window().weight(), by_class.last_window().weight());
  EXPECT_TRUE(std::ranges::equal(given.parameters().values(), by_class.parameters().values()));
}

/// Class weights that the program counts, as a parameter.
struct Counted {
  nn::Linear layer;
  Parameter class_weights;
  constexpr explicit Counted(Scope s)
      : layer(s / "layer", 4, 3), class_weights(s.parameter("class_weights", Shape{3, 1}, init::constant(1))) {}
  constexpr Loss loss(Var x, Var label) const {
    return Loss(cross_entropy(layer(x), label)).weighted_by(select(gather(class_weights, label), 1, 0));
  }
};

TEST(ClassWeights, MayBeAFrozenParameter) {
  constexpr int samples = 48;
  const auto x = numbers(samples * 4);
  const auto y = labels(samples, 3);
  Session by_class(Compiled<ByClass, Inputs<f32[4], i32>>{}, Accumulate{Adam{}}, {.global_batch = samples});
  Session counted(Compiled<Counted, Inputs<f32[4], i32>>{}, Accumulate{Adam{}},
                  {.global_batch = samples, .freeze = {"class_weights"}});
  const std::vector<float> weights{0.25f, 1, 3};
  std::ranges::copy(weights, counted.parameters()["class_weights"].values.begin());
  by_class.accumulate(x, y);
  counted.accumulate(x, y);
  EXPECT_EQ(by_class.last_window().weight(), counted.last_window().weight());
  for (const char* name : {"layer/weight", "layer/bias"})
    EXPECT_TRUE(std::ranges::equal(by_class.parameters()[name].values, counted.parameters()[name].values)) << name;
  EXPECT_TRUE(std::ranges::equal(counted.parameters()["class_weights"].values, weights));
}

TEST(ClassWeights, AreZeroWhereThereIsNone) {
  EagerTape tape(Device::cpu(), 4);
  const std::int32_t index[] = {1, 0, 2, -1};
  const Tensor found = value(lookup(tape.input(index), {0.5, -2}));
  EXPECT_TRUE(std::ranges::equal(found.values<float>(), std::vector<float>{-2, 0.5f, 0, 0}));
}

TEST(ClassWeights, LeaveOutWhatHasNone) {
  const float losses[] = {2, std::numeric_limits<float>::infinity()}, weights[] = {1, 0}, *values[] = {losses, losses};
  Averages averages(1);
  averages.add(values, weights, 2);
  EXPECT_EQ(averages.loss(), 2);
  EXPECT_EQ(averages.metric(0), 2);
  EXPECT_EQ(averages.count(), 2);
}

}  // namespace class_weights_test
