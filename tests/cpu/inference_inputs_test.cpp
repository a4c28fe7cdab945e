// What inferences take and give: several inputs of different types, no parameters, outputs that no kernel writes.
#include <gtest/gtest.h>

#include <array>

#include "../error_of.hpp"
#include "../models.hpp"

namespace inference_inputs_test {

using namespace models;

/// Has no parameters.
struct Cube {
  constexpr explicit Cube(Scope) {}
  constexpr Var predict(Var x) const { return x * x * x; }
};

TEST(Inference, OfANetWithoutParametersIsGivenNone) {
  using Cubes = Inference<Compiled<Cube, Inputs<f32>>>;
  const std::vector<float> x{-2, 0.5f, 3};
  std::vector<float> one(3), many(3);
  Cubes cube;
  cube(x, one);
  EXPECT_EQ(one, (std::vector<float>{-8, 0.125f, 27}));
  Cubes(256, 2)(x, many);
  EXPECT_EQ(many, one);
  EXPECT_EQ(error_of<OptionError>([] { Cubes(1, 0); }), "Inference: 0 threads; 1 to 1024 are possible");
  std::array<Cubes, 2> several{};
  several[1](x, many);
  EXPECT_EQ(many, one);
  EXPECT_FALSE((std::is_constructible_v<Inference<ClassifierNet>, int>));
}

/// A category, looked up in a table, and four numbers.
struct TwoInputs {
  nn::Embedding table;
  nn::Linear output;
  Parameter scale;  // whose exponential is computed once for all samples
  constexpr explicit TwoInputs(Scope s)
      : table(s / "table", 5, 3), output(s / "output", 7, 2), scale(s.parameter("scale", Shape{2}, init::constant(0.5))) {}
  constexpr Var predict(Var category, Var x) const { return output(concat({table(category), x})) * exp(scale.on(x)); }
  constexpr Loss loss(Var category, Var x, Var y) const { return {mse(predict(category, x), y)}; }
};

TEST(Inferences, TakeWhatPredictTakes) {
  using Net = Compiled<TwoInputs, Inputs<i32, f32[4], f32[2]>>;
  const auto categories = labels(20, 5);
  const auto x = numbers(20 * 4), y = numbers(20 * 2, 2);
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 20});
  session.accumulate(categories, x, y);
  Inference<Net> predict(session.parameters(), 8);
  std::vector<float> out(40);
  predict(categories, x, out);
  Parameters parameters(Device::cpu());
  const TwoInputs net(parameters.root());
  parameters.initialize(0);
  std::ranges::copy(session.parameters().values(), parameters.values().begin());
  EagerTape tape(parameters, 20);
  const Var category = tape.input(categories), numbers_beside = tape.input(x, {4});
  const Tensor expected = value(net.predict(category, numbers_beside));
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(out[i], expected.values<float>()[i]) << i;
  const std::vector<float> others(Net::parameter_elements, 0.25f);
  predict.set_parameters(others);
  predict(categories, x, out);
  std::vector<float> anew(40);
  Inference<Net>(others, 8)(categories, x, anew);
  EXPECT_EQ(out, anew);
  EXPECT_EQ(error_of<DataError>([&] { predict(categories, std::span(x).first(76), out); }),
            "input 1 holds 19 samples (76 values), input 0 holds 20 (20 values, 1 for each)");
  for (const std::size_t other : {38u, 42u}) {
    std::vector<float> of_another_size(other);
    EXPECT_EQ(error_of<DataError>([&] { predict(categories, x, of_another_size); }),
              "inference: 20 samples need 40 outputs, got " + std::to_string(other));
  }
  const std::vector<std::int32_t> outside(20, 5);
  EXPECT_EQ(error_of<DataError>([&] { predict(outside, x, out); }),
            "input 0, sample 0: index 5 is outside the table's 5 rows 0 to 4");
}

/// Predicts its input, under another name or shape, or a number.
template <int Way>
struct Unchanged {
  constexpr explicit Unchanged(Scope) {}
  constexpr Var predict(Var x) const {
    if constexpr (Way == 0) return dropout(x, 0.5);
    else if constexpr (Way == 1) return reshape(x, Shape::per_sample({2, 1}));
    else return constant_like(x, 3);
  }
};

TEST(Inferences, GiveWhatNoKernelWrites) {
  const auto x = numbers(7 * 2);
  std::vector<float> out(14);
  Inference<Compiled<Unchanged<0>, Inputs<f32[2]>>>(std::span<const float>(), 4)(x, out);
  EXPECT_EQ(out, x);
  std::ranges::fill(out, 0);
  Inference<Compiled<Unchanged<1>, Inputs<f32[2]>>>(std::span<const float>(), 4)(x, out);
  EXPECT_EQ(out, x);
  Inference<Compiled<Unchanged<2>, Inputs<f32[2]>>>(std::span<const float>(), 4)(x, out);
  EXPECT_EQ(out, std::vector<float>(14, 3));
}

}  // namespace inference_inputs_test
