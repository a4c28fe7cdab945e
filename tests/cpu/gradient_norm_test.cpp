// The norm of a window's gradient: of its mean or its sum, whatever scaled the loss, from every kind of session.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace gradient_norm_test {

using namespace models;

/// The gradient of a sample is the sample, for both parameters.
struct Line {
  Parameter frozen, weight;
  constexpr explicit Line(Scope s)
      : frozen(s.parameter("frozen", Shape{2}, init::constant(0.5))),
        weight(s.parameter("weight", Shape{2}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const { return sum(x * weight + x * frozen, {1}); }
};
using Net = Compiled<Line, Inputs<f32[2]>>;
const std::vector<float> x = {1, 2, 5, 6};  // the mean is 3, 4

template <class Optimizer>
double norm_of(const Optimizer& optimizer, SessionOptions options = {.global_batch = 2}) {
  options.freeze = {"frozen"};
  Session session(Net{}, optimizer, options);
  session.accumulate(x);
  Parameters parameters(Device::cpu());
  const Line line(parameters.root());
  Session eager(parameters, optimizer, options);
  eager.accumulate(2, [&](EagerTape& tape) { return line.loss(tape.input(x, {2})); });
  EXPECT_EQ(session.gradient_norm(), eager.gradient_norm());
  return session.gradient_norm();
}

TEST(GradientNorm, IsOfTheWindowBeforeItsOptimizer) {
  EXPECT_EQ(norm_of(Accumulate{Sgd{}}), 5);
  EXPECT_EQ(norm_of(Accumulate{Sgd{}}, {.global_batch = 2, .micro_batch = 1}), 5);
  EXPECT_EQ(norm_of(Accumulate{Sgd{}}, {.global_batch = 2, .reduction = Reduction::sum}), 10);
  EXPECT_EQ(norm_of(Accumulate{ClipByGlobalNorm{Sgd{}, 0.5}}), 5);
  EXPECT_EQ(norm_of(Accumulate{LossScale{Sgd{}, {1024, 1}}}), 5);  // this window doubles the scale
}

template <class Real>
void expect_clipped(std::initializer_list<double> sizes) {
  for (const double size : sizes) {
    Session session(Compiled<Line, Inputs<Real[2]>>{}, Accumulate{ClipByGlobalNorm{Sgd{.learning_rate = 1}}}.template in<Real>(),
                    {.global_batch = 1, .freeze = {"frozen"}});
    session.accumulate(std::vector<Real>{static_cast<Real>(0.6 * size), static_cast<Real>(0.8 * size)});
    EXPECT_NEAR(session.parameters()["weight"].values[0], 0.5 - 0.6, 1e-6) << size;
    EXPECT_NEAR(session.parameters()["weight"].values[1], 0.5 - 0.8, 1e-6) << size;
  }
}
TEST(GradientNorm, IsClippedHoweverLarge) {  // its square is beyond a float from 1.8e19 on
  expect_clipped<float>({1, 1.5, 1e18, 1e20, 2e38});
  expect_clipped<double>({1, 1e20, 1e150, 1e160, 1e308});
}

TEST(GradientNorm, IsThereBetweenWindows) {
  Session session(Net{}, Accumulate{Sgd{}}, {.global_batch = 2, .freeze = {"frozen"}});
  EXPECT_TRUE(std::isnan(session.gradient_norm()));
  session.accumulate(x);
  session.accumulate(std::span(x).first(2));
  EXPECT_EQ(error_of<OptionError>([&] { session.gradient_norm(); }),
            "gradient_norm: a window has begun; its gradient is known only at its end");
  session.discard();
  EXPECT_TRUE(std::isnan(session.gradient_norm())) << "sums of another window had begun";
  session.accumulate(x);
  EXPECT_EQ(session.gradient_norm(), 5);
  session.restore(session.state());
  EXPECT_TRUE(std::isnan(session.gradient_norm()));
  session.apply(std::vector<float>{1, 1, 12, 16}, 4);
  EXPECT_EQ(session.gradient_norm(), 5);
}

TEST(GradientNorm, IsNoneOfAWindowWithoutWeight) {
  struct Weighted : Line {
    using Line::Line;
    constexpr Loss loss(Var in, Var w) const { return Line::loss(in).weighted_by(w); }
  };
  Session session(Compiled<Weighted, Inputs<f32[2], f32>>{}, Accumulate{Sgd{}}, {.global_batch = 2});
  Parameters parameters(Device::cpu());
  const Weighted line(parameters.root());
  Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = 2});
  for (const std::vector<float>& weights : {std::vector<float>{1, 1}, {0, 0}}) {
    session.accumulate(x, weights);
    eager.accumulate(2, [&](EagerTape& tape) { return line.loss(tape.input(x, {2}), tape.input(weights)); });
  }
  for (const double norm : {session.gradient_norm(), eager.gradient_norm()})
    EXPECT_TRUE(std::isnan(norm) && !std::signbit(norm)) << norm;
}

}  // namespace gradient_norm_test
