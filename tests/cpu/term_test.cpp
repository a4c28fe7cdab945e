// A term beside the loss enters a window once, whatever the number of its samples, and is not divided by their weight.
#include <gtest/gtest.h>

#include <cmath>

#include "../models.hpp"

namespace term_test {

using namespace models;

template <bool Penalty>
struct Line {
  Parameter slope;
  constexpr explicit Line(Scope s) : slope(s.parameter("slope", Shape{3}, init::constant(2))) {}
  constexpr Loss loss(Var x) const {
    const Var w = slope.on(x);
    const Loss result(sum(x * w, {-1}));
    return Penalty ? result.plus(0.5 * sum(w * w, {0})).plus(sum(w, {0})) : result;
  }
};
template <bool Penalty>
using Net = Compiled<Line<Penalty>, Inputs<f32[3]>>;

TEST(Term, EntersEachWindowOnce) {
  const auto x = numbers(64 * 3);
  Session plain(Net<false>{}, Accumulate{Sgd{.learning_rate = 0.5f}}, {.global_batch = 64});
  Session penalised(Net<true>{}, Accumulate{Sgd{.learning_rate = 0.5f}}, {.global_batch = 64});
  plain.accumulate(x);
  penalised.accumulate(x);
  EXPECT_EQ(plain.last_window().loss(), penalised.last_window().loss());
  for (std::size_t i = 0; i < 3; ++i)  // d(½w² + w)/dw = 3 at 2
    EXPECT_FLOAT_EQ(plain.parameters()[0].values[i] - 0.5f * 3, penalised.parameters()[0].values[i]);
}

TEST(Term, BitsDoNotDependOnTheSplit) {
  const auto x = numbers(300 * 3);
  const auto trained = [&](std::int64_t micro_batch) {
    Session session(Net<true>{}, Accumulate{Adam{}}, {.global_batch = 300, .micro_batch = micro_batch});
    for (int step = 0; step < 5; ++step) session.accumulate(x);
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  const auto whole = trained(300);
  EXPECT_EQ(differing_bits(whole, trained(7)), 0);
  EXPECT_EQ(differing_bits(whole, trained(128)), 0);
}

/// A term of a value that is derived from parameters alone, once per window: its adjoint must wait for the window's weight.
template <bool Penalty>
struct Derived {
  Parameter slope;
  constexpr explicit Derived(Scope s) : slope(s.parameter("slope", Shape{}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const {
    const Var w = tanh(slope.on(x));
    const Loss result(sum(x * w, {-1}));
    return Penalty ? result.plus(0.5 * (w * w)) : result;
  }
};

TEST(Term, OfDerivedValuesEntersEachWindowOnce) {
  const auto x = numbers(64 * 3);
  const auto optimizer = Accumulate{Sgd{.learning_rate = 0.5f}};
  Session plain(Compiled<Derived<false>, Inputs<f32[3]>>{}, optimizer, {.global_batch = 64});
  Session penalised(Compiled<Derived<true>, Inputs<f32[3]>>{}, optimizer, {.global_batch = 64});
  plain.accumulate(x);
  penalised.accumulate(x);
  const float t = std::tanh(0.5f);
  EXPECT_NEAR(plain.parameters()[0].values[0] - 0.5f * t * (1 - t * t), penalised.parameters()[0].values[0], 1e-6f);
}

struct PenaltyOfSamples : Line<false> {
  using Line::Line;
  constexpr Loss loss(Var x) const { return Line::loss(x).plus(sum(x, {-1})); }
};

TEST(Term, OfSamplesIsRefused) {
  try {
    trace_training<PenaltyOfSamples>(Inputs<f32[3]>{});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "plus: needs one number computed from parameters, got [batch]");
  }
}

}  // namespace term_test
