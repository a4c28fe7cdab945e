// Models whose loss contains derivatives by their inputs: compiled, in parts, the same as eagerly.
#include <gtest/gtest.h>

#include <cmath>

#include "../models.hpp"

namespace inner_gradients_test {

using namespace models;

/// Fits f by a Hessian-vector and a Jacobian-vector product of u, with a penalty on the gradient.
struct Physics {
  nn::Linear hidden, output;
  constexpr explicit Physics(Scope s) : hidden(s / "hidden", 2, 9), output(s / "output", 9, 1) {}
  constexpr Var predict(Var x) const { return gradients(solution(x), {x})[0]; }
  constexpr Loss loss(Var x, Var f) const {
    const Var u = solution(x), du = gradients(u, {x})[0], v = convert(iota(x, 1), DType::f32);
    const Var curvature = hessian_vector(u, {x}, {v})[0], along = jvp(du, {x}, {v});
    return {sum(square(curvature + along - f) + 0.1 * square(du), {1})};
  }

 private:
  constexpr Var solution(Var x) const { return output(tanh(hidden(x))); }
};

TEST(InnerGradients, AreThoseOfTheModelThatIsRun) {
  using Net = Compiled<Physics, Inputs<f32[2], f32[2]>>;
  constexpr std::int64_t samples = 150;
  const auto x = numbers(samples * 2), f = numbers(samples * 2, 2);
  Parameters parameters(Device::cpu());
  const Physics net(parameters.root());
  Session eager(parameters, Accumulate{Adam{}}, {.global_batch = samples});
  Session compiled(Net{}, Accumulate{Adam{}}, {.global_batch = samples, .micro_batch = 37});
  for (int step = 0; step < 3; ++step) {
    compiled.accumulate(x, f);
    eager.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(x, {2}), tape.input(f, {2})); });
    EXPECT_EQ(compiled.last_window().loss(), eager.last_window().loss());
  }
  EXPECT_EQ(compiled.step_count(), 3);
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);

  std::vector<float> slope(samples * 2);
  Inference<Net> derivative(compiled.parameters().values(), 64);
  derivative(x, slope);
  const auto hidden = compiled.parameters()["hidden/weight"].values, bias = compiled.parameters()["hidden/bias"].values,
             output = compiled.parameters()["output/weight"].values;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const std::size_t s = i / 2, k = i % 2;
    double expected = 0;
    for (std::size_t h = 0; h < 9; ++h) {
      const double t =
          std::tanh(double{x[2 * s]} * double{hidden[h]} + double{x[2 * s + 1]} * double{hidden[9 + h]} + double{bias[h]});
      expected += (1 - t * t) * double{hidden[9 * k + h]} * double{output[h]};
    }
    EXPECT_NEAR(slope[i], expected, 1e-5);
  }
}

TEST(InnerGradients, OfALossThatIsScaled) {
  using Net = Compiled<Physics, Inputs<f32[2], f32[2]>>;
  constexpr std::int64_t samples = 150;
  const auto x = numbers(samples * 2), f = numbers(samples * 2, 2);
  constexpr auto optimizer = Accumulate{LossScale{Sgd{.learning_rate = 0.01f}}};
  Parameters parameters(Device::cpu());
  const Physics net(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = samples, .micro_batch = 64});
  Session compiled(Net{}, optimizer, {.global_batch = samples, .micro_batch = 37});
  for (int step = 0; step < 2; ++step) {
    compiled.accumulate(x, f);
    for (std::size_t at = 0; at < samples; at += 50)
      eager.accumulate(50, [&](EagerTape& tape) {
        return net.loss(tape.input(std::span(x).subspan(2 * at, 100), {2}), tape.input(std::span(f).subspan(2 * at, 100), {2}));
      });
  }
  EXPECT_EQ(eager.step_count(), 2);
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);
}

/// The derivative of x³ along p·x, a learned direction: 3x²·px, whose derivative by p is 3x³.
struct Along {
  Parameter p;
  constexpr explicit Along(Scope s) : p(s.parameter("p", Shape{1}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(jvp(x * x * x, {x}, {x * p}), {1})); }
};

TEST(InnerGradients, AreDifferentiatedByTheDirectionTheyAreTakenAlong) {
  const std::vector<float> x{2};
  Session compiled(Compiled<Along, Inputs<f32[1]>>{}, Accumulate{Sgd{.learning_rate = 1.0f}}, {.global_batch = 1});
  Parameters parameters(Device::cpu());
  const Along net(parameters.root());
  Session eager(parameters, Accumulate{Sgd{.learning_rate = 1.0f}}, {.global_batch = 1});
  compiled.accumulate(x);
  eager.accumulate(1, [&](EagerTape& tape) { return net.loss(tape.input(x, {1})); });
  EXPECT_EQ(compiled.parameters().values()[0], 0.5f - 24);
  EXPECT_EQ(parameters.values()[0], 0.5f - 24);
}

}  // namespace inner_gradients_test
