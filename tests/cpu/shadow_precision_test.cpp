// Sums that float cannot hold: what each type of shadow keeps of them, and what the optimizer receives.
#include <gtest/gtest.h>

#include "../models.hpp"

namespace shadow_precision_test {

using namespace models;

/// The sample is its own gradient.
struct Slope {
  Parameter weight;
  constexpr explicit Slope(Scope s) : weight(s.parameter("weight", Shape{1}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return {x * weight}; }
};
using SlopeNet = Compiled<Slope, Inputs<f32>>;

/// Keeps by how much the window's sum exceeds a number, which reveals whether the sum was rounded before; moves parameters by
/// the amount by which the mean exceeds 1.
struct Excess {
  Scalar over = 0.0;
  struct State {
    Var excess;
  };
  constexpr auto operator()(Var parameter, Var gradient, State) const {
    return update(parameter + (gradient - 1.0), State{gradient * weight_of_window(gradient) - value_of(over, gradient)});
  }
};

template <class S>
struct ShadowPrecision : testing::Test {
  using Slopes = Session<SlopeNet, Accumulate<Excess, S>>;
  static Slopes session(double over, std::int64_t window) {
    return Slopes(SlopeNet{}, Accumulate{Excess{over}}.template in<S>(),
                  {.global_batch = window, .micro_batch = std::min(window, std::int64_t{1} << 18)});
  }
  static double excess(const Slopes& session) {
    return static_cast<double>(*reinterpret_cast<const float*>(session.optimizer_state_bytes().data()));
  }
  static constexpr bool wide = !std::is_same_v<S, float>;
};
using Types = testing::Types<float, double, Compensated<float>>;
TYPED_TEST_SUITE(ShadowPrecision, Types);

TYPED_TEST(ShadowPrecision, OfMoreOnesThanFloatCanCount) {  // case 5
  const std::vector<float> ones(1 << 18, 1.0f);
  for (const int more : {16, 17}) {  // a single chain stops at 2^24; blocks of 128 take float to the next even number
    auto session = this->session(0x1p24, (1 << 24) + more);
    for (int i = 0; i < 64; ++i) session.accumulate(ones);
    EXPECT_EQ(session.accumulate(std::span(ones).first(static_cast<std::size_t>(more))), 1);
    EXPECT_EQ(static_cast<double>(session.accumulator()[0]), 0x1p24 + (this->wide ? more : 16));
    EXPECT_EQ(this->excess(session), this->wide ? more : 16);
    EXPECT_EQ(session.parameters()[0].values[0], 0) << "divided by another weight";
  }
}

TYPED_TEST(ShadowPrecision, OfOnesBesideALargeNumber) {
  constexpr std::int64_t samples = 1 << 14;
  std::vector<float> x(samples, 1.0f);
  x[0] = 0x1p31f;  // half of its last place is 128: a block of ones, which float rounds away each time
  for (const std::size_t first : {std::size_t{samples}, std::size_t{1000}}) {
    auto session = this->session(0x1p31, samples);
    session.accumulate(std::span(x).first(first));
    if (first < samples) session.accumulate(std::span(x).subspan(first));
    EXPECT_EQ(session.step_count(), 1);
    EXPECT_EQ(this->excess(session), this->wide ? samples - 128 : 0);  // the first block is a chain of floats in any case
  }
}

TYPED_TEST(ShadowPrecision, AWindowThatOverflowsLeavesNothingBehind) {
  constexpr bool holds = std::is_same_v<TypeParam, double>;  // values beyond float
  auto session = this->session(0, 256), other = this->session(0, 256);
  std::vector<float> x(256);
  x[0] = x[200] = 3e38f;
  EXPECT_EQ(session.accumulate(x), holds ? 1 : 0);
  EXPECT_EQ(session.dropped_windows(), holds ? 0 : 1);
  const std::vector<float> next = numbers(256);
  session.accumulate(next);
  other.accumulate(next);
  EXPECT_EQ(this->excess(session), this->excess(other));
  EXPECT_EQ(session.accumulator()[0], other.accumulator()[0]);
}

TYPED_TEST(ShadowPrecision, ASumFromElsewhereIsAppliedAsItIs) {
  auto session = this->session(1, 1);
  const std::vector<SumOf<TypeParam>> sum{SumOf<TypeParam>(1) + SumOf<TypeParam>(0x1p-40)};
  session.apply(sum, 1);
  EXPECT_EQ(this->excess(session), this->wide ? 0x1p-40 : 0);
}

/// Computes its loss and its weight in double.
struct InDouble {
  Parameter weight;
  constexpr explicit InDouble(Scope s) : weight(s.parameter("weight", Shape{1}, init::constant(3))) {}
  constexpr Loss loss(Var x) const {
    const Var wide = convert(x, DType::f64), square_in_double = square(convert(x * weight, DType::f64));
    return Loss(convert(square_in_double, DType::f32)).weighted_by(convert(2.0 * wide, DType::f32));
  }
};

TYPED_TEST(ShadowPrecision, LeavesDoublesOfSamplesAsTheyAre) {
  Session session(Compiled<InDouble, Inputs<f32>>{}, Accumulate{Sgd{.learning_rate = 1}}.in<TypeParam>(), {.global_batch = 2});
  session.accumulate(std::vector<float>{1, 2});
  EXPECT_EQ(session.last_window().weight(), 6);
  EXPECT_EQ(session.last_window().loss(), 27);  // of 9 and 36, the second with twice the weight
  EXPECT_EQ(session.parameters()[0].values[0], 3 - 18);
}

}  // namespace shadow_precision_test
