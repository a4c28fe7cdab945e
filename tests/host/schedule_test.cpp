// Schedules against their closed formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace schedule_test {

using namespace models;

constexpr double pi = 3.14159265358979323846;

TEST(Schedule, WarmsUpInEqualParts) {
  for (const Scalar& s : {schedule::step(0.8, 5, 0.5, 4), schedule::exponential(0.8, 0.9, 4), schedule::cosine(0.8, 20, 4),
                          schedule::polynomial(0.8, 20, 2, 4)})
    for (int t = 0; t < 4; ++t) EXPECT_DOUBLE_EQ(s.at(t), 0.8 * (t + 1) / 4);
}

TEST(Schedule, FollowsItsFormula) {
  const Scalar step = schedule::step(1, 3, 0.5), exponential = schedule::exponential(2, 0.9);
  const Scalar polynomial = schedule::polynomial(1, 10, 2, 0, 0.25), cosine = schedule::cosine(1, 10, 0, 0.25);
  for (int t = 0; t < 15; ++t) {
    EXPECT_DOUBLE_EQ(step.at(t), std::pow(0.5, t / 3));
    EXPECT_NEAR(exponential.at(t), 2 * std::pow(0.9, t), 1e-14);
    const double left = t < 10 ? 1 - t / 10.0 : 0;
    EXPECT_NEAR(polynomial.at(t), 0.25 + 0.75 * left * left, 1e-14);
    EXPECT_NEAR(cosine.at(t), t < 10 ? 0.25 + 0.375 * (1 + std::cos(pi * t / 10)) : 0.25, 1e-14);
  }
}

TEST(Schedule, FallsFromTheEndOfTheWarmUpOrUpToAStep) {
  const Scalar step = schedule::step(1, 3, 0.5, 4), exponential = schedule::exponential(2, 0.9, 4);
  for (int t = 4; t < 15; ++t) {
    EXPECT_EQ(step.at(t), schedule::step(1, 3, 0.5).at(t - 4));
    EXPECT_EQ(exponential.at(t), schedule::exponential(2, 0.9).at(t - 4));
  }
  for (const Scalar& s : {schedule::cosine(1, 10, 4, 0.25), schedule::polynomial(1, 10, 2, 4, 0.25)}) {
    EXPECT_EQ(s.at(4), 1);
    EXPECT_GT(s.at(9), 0.25);
    EXPECT_EQ(s.at(10), 0.25);
  }
}

TEST(Schedule, OneCycleRisesAndFalls) {  // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=10, pct_start=0.3)
  const Scalar cycle = schedule::one_cycle(1, 10, 2);
  const double expected[] = {0.04, 0.52, 1.0, 0.9504844540, 0.8117456539, 0.6112606744, 0.3887433256, 0.1882583461,
                             0.0495195460, 0.000004};
  for (int t = 0; t < 10; ++t) EXPECT_NEAR(cycle.at(t), expected[t], 5e-6);
}

TEST(Schedule, OfEveryFewStepsAndOfAFunction) {
  const Scalar every = schedule::every(3),
               squares = schedule::function([](std::int64_t t) { return static_cast<double>(t * t); });
  for (int t = 0; t < 9; ++t) {
    EXPECT_EQ(every.at(t), t % 3 == 2 ? 1 : 0);
    EXPECT_EQ(squares.at(t), t * t);
  }
  static_assert(schedule::cosine(1, 10).at(10) == 0 && schedule::every(2).at(1) == 1);
}

TEST(Schedule, NumbersThatNobodyCanStepByAreRefused) {
  const auto session = [](auto rule) { Session(ClassifierNet{}, Accumulate{rule}, {.global_batch = 4}); };
  EXPECT_THROW(session(Sgd{.learning_rate = -0.1f}), OptionError);
  EXPECT_THROW(session(Sgd{.learning_rate = std::numeric_limits<double>::quiet_NaN()}), OptionError);
  EXPECT_THROW(session(Ema{Sgd{.momentum = std::numeric_limits<double>::infinity()}}), OptionError);
  EXPECT_THROW(session(Ema{Sgd{.learning_rate = schedule::exponential(-1, 0.5)}}), OptionError);
  EXPECT_THROW(Session(ClassifierNet{}, Accumulate{Sgd{}, -1}, {.global_batch = 4}), OptionError);
}

/// States that it follows no parameters, so that its decay is not checked as that of an average.
struct NoAverage : Ema<Adam> {
  static constexpr bool follows_parameters = false;
};

TEST(Schedule, NumbersOfARuleAreRefusedByTheirName) {
  const auto check = [](auto rule) { return error_of<OptionError>([&] { check_rates(rule); }); };
  EXPECT_EQ(check(ClipByGlobalNorm{Sgd{}, -1.0}), "an optimizer's max_norm of -1, which must be finite and at least 0");
  EXPECT_EQ(check(ClipByValue{Sgd{}, -0.5}), "an optimizer's limit of -0.5, which must be finite and at least 0");
  EXPECT_EQ(check(ScaleRate{Adam{}, 0.0}), "an optimizer's reference of 0, which must be finite and above 0");
  EXPECT_EQ(check(Ema{Adam{}, 1.5}), "an optimizer's decay of 1.5, which must be from 0 to 1");
  EXPECT_EQ(check(NoAverage{{Adam{}, 1.0}}), "an optimizer's decay of 1, which must be at least 0 and below 1");
  EXPECT_EQ(check(WeightDecay{Adam{}, 1.0}), "an optimizer's decay of 1, which must be at least 0 and below 1");
  EXPECT_EQ(check(WeightDecay{Adam{}, -0.1}), "an optimizer's decay of -0.1, which must be at least 0 and below 1");
  EXPECT_EQ(check(Adadelta{.rho = 1.0}), "an optimizer's rho of 1, which must be at least 0 and below 1");
  EXPECT_EQ(check(Sam{Adam{}, -1.0}), "an optimizer's radius of -1, which must be finite and at least 0");
  EXPECT_EQ(check(Sgd{.dampening = 0.5}), "an optimizer's dampening needs a momentum");
  EXPECT_EQ(check(Adam{.beta1 = 1.0}), "an optimizer's beta1 of 1, which must be at least 0 and below 1");
  EXPECT_EQ(check(Lookahead{Adam{}, schedule::every(5), 5.0}), "an optimizer's alpha of 5, which must be from 0 to 1");
  EXPECT_EQ(error_of<OptionError>([] { check_rates(Lookahead{Adam{}, schedule::every(5), -0.5}); }),
            "an optimizer's alpha of -0.5, which must be from 0 to 1");
  check_rates(Lookahead{Adam{}, schedule::every(5), 1.0});
  EXPECT_EQ(check(Lookahead{Adam{}, 5}), "an optimizer's syncs of 5, which must be 0 or 1, as by schedule::every(5)");
  EXPECT_EQ(check(Lookahead{Adam{}, 0.5}), "an optimizer's syncs of 0.5, which must be 0 or 1, as by schedule::every(5)");
  for (const double syncs : {0.0, 1.0}) check_rates(Lookahead{Adam{}, syncs});
  EXPECT_EQ(check(ScaleUpdate{Adam{}, -1.0}), "an optimizer's factor of -1, which must be finite and at least 0");
  EXPECT_EQ(check(Lars{.trust = -1.0}), "an optimizer's trust of -1, which must be finite and above 0");
  EXPECT_EQ(check(Shampoo{.damping = -1.0}), "an optimizer's damping of -1, which must be finite and at least 0");
  EXPECT_EQ(check(Adafactor{.clipping = 0.0}), "an optimizer's clipping of 0, which must be finite and above 0");
  EXPECT_EQ(check(Adafactor{.variance_decay = 0.8}),
            "an optimizer's variance_decay of 0.8, which must be finite and at most 0");
  EXPECT_EQ(check(Adafactor{.variance_decay = 0.0}), "accepted");
  EXPECT_EQ(check(Adagrad{.learning_rate_decay = -1.0}),
            "an optimizer's learning_rate_decay of -1, which must be finite and at least 0");
  EXPECT_EQ(check(Ema{AdamW{.beta2 = 2.0}}), "an optimizer's beta2 of 2, which must be at least 0 and below 1");
  EXPECT_EQ(check(Lion{.beta1 = -0.1}), "an optimizer's beta1 of -0.1, which must be at least 0 and below 1");
  EXPECT_EQ(check(Adam{.epsilon = -1e-8}), "an optimizer's epsilon of -1e-08, which must be finite and at least 0");
  EXPECT_EQ(check(Sgd{.momentum = -0.5}), "an optimizer's momentum of -0.5, which must be finite and at least 0");
  EXPECT_EQ(check(AdamW{.weight_decay = -1.0}),
            "an optimizer's weight_decay of -1, which must be finite and at least 0");
  EXPECT_EQ(check(ClipByGlobalNorm{ClipByValue{Adam{.beta1 = 0.0, .epsilon = 0.0}, 0.0}, 0.0}), "accepted");
}

/// A user's rule, whose numbers have names that the library's rules use.
struct Ascent {
  Scalar learning_rate = -0.1, alpha = 2.718, epsilon = 1e-8, momentum = 0.0, dampening = 0.5;
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    return update(parameter - learning_rate * (alpha * gradient / (abs(gradient) + epsilon)), state);
  }
};
struct CheckedAscent : Ascent {
  using Ranges = RangesByName;
};

TEST(Schedule, NumbersOfRulesOfOnesOwnMayBeAny) {
  const auto check = [](auto rule) { return error_of<OptionError>([&] { check_rates(rule); }); };
  EXPECT_EQ(check(Ascent{}), "accepted");
  EXPECT_EQ(check(CheckedAscent{}), "an optimizer's learning_rate of -0.1, which must be finite and at least 0");
  EXPECT_EQ(check(ClipByValue{Ascent{}, -0.5}), "an optimizer's limit of -0.5, which must be finite and at least 0");
}

TEST(Schedule, VariablesAreReadWhenAStepIsMade) {
  double rate = 0.5;
  EXPECT_THROW(Session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 4, .window_samples = schedule::variable(rate)}),
               OptionError);
  Session session(ClassifierNet{}, Accumulate{Sgd{.learning_rate = schedule::variable(rate)}}, {.global_batch = 4});
  Session plain(ClassifierNet{}, Accumulate{Sgd{.learning_rate = 0.25f}}, {.global_batch = 4});
  const auto x = numbers(4 * 9);
  const auto y = labels(4, 5);
  const std::vector<float> before(session.parameters().values().begin(), session.parameters().values().end());
  rate = 0;
  session.accumulate(x, y);
  EXPECT_EQ(std::vector<float>(session.parameters().values().begin(), session.parameters().values().end()), before);
  rate = 0.25;
  session.accumulate(x, y);
  plain.accumulate(x, y);
  EXPECT_EQ(differing_bits(std::as_bytes(session.parameters().values()), std::as_bytes(plain.parameters().values())), 0);
}

TEST(Schedule, LengthsThatCannotBeAreRefused) {
  EXPECT_EQ(error_of<OptionError>([] { schedule::step(0.1, 0, 0.5); }), "schedule::step: every is 0 steps, the minimum is 1");
  EXPECT_EQ(error_of<OptionError>([] { schedule::exponential(0.1, 0.5, -1); }),
            "schedule::exponential: warmup is -1 steps, the minimum is 0");
  EXPECT_EQ(error_of<OptionError>([] { schedule::polynomial(0.1, -3); }),
            "schedule::polynomial: total is -3 steps, the minimum is 1");
  EXPECT_EQ(error_of<OptionError>([] { schedule::cosine(0.1, 0); }), "schedule::cosine: total is 0 steps, the minimum is 1");
  EXPECT_EQ(error_of<OptionError>([] { schedule::cosine(0.1, 10, 20); }),
            "schedule::cosine: total is 10 steps, the minimum is 21");
  EXPECT_EQ(error_of<OptionError>([] { schedule::one_cycle(0.1, 10, 0); }),
            "schedule::one_cycle: rise is 0 steps, the minimum is 1");
  EXPECT_EQ(error_of<OptionError>([] { schedule::one_cycle(0.1, 10, 9); }),
            "schedule::one_cycle: total is 10 steps, the minimum is 11");
  EXPECT_EQ(error_of<OptionError>([] { schedule::every(0); }), "schedule::every: period is 0 steps, the minimum is 1");
  EXPECT_EQ(error_of<OptionError>([] { schedule::function(nullptr); }), "schedule::function: no function");
  static_assert(schedule::cosine(1, 21, 20).at(21) == 0 && schedule::one_cycle(1, 3, 1).at(1) == 1);
}

}  // namespace schedule_test
