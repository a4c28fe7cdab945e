// A rate that a step refuses: the window waits for its step, however it ended, and no sample is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "../error_of.hpp"
#include "../models.hpp"

namespace refused_rates_test {

using namespace models;

struct RefusedRates : testing::Test {
  static inline double rate = 0.1;
  static constexpr Adam adam{.learning_rate = schedule::variable(rate)};
  const SessionOptions options{.global_batch = 64};
  const std::vector<float> x = numbers(192 * 9);
  const std::vector<std::int32_t> y = labels(192, 5);

  int give(auto& session, std::size_t first, std::size_t count) const {
    return session.accumulate(std::span(x).subspan(first * 9, count * 9), std::span(y).subspan(first, count));
  }
  /// Expects a call to be refused its rate, which is then as before.
  static void refuse(auto call) {
    rate = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(call(), OptionError);
    rate = 0.1;
  }
  /// Does the same for one that ends a window.
  static void refuse_step(auto& session, auto call) {
    refuse(call);
    EXPECT_TRUE(session.waits_for_step());
    EXPECT_EQ(error_of<OptionError>([&] { session.state(); }),
              "state: the window's step has failed: flush it again, or discard it");
  }
};

/// The rate is read once a window.
template <class Give>
void expect_step_after_a_refused_rate(auto& session, auto& undisturbed, double& rate, Give give) {
  give(session), give(undisturbed);
  rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(give(session), OptionError);
  EXPECT_TRUE(session.waits_for_step());
  EXPECT_THROW(give(session), OptionError);
  rate = 0.1;
  EXPECT_EQ(session.flush(), 1);
  give(undisturbed);
  EXPECT_EQ(session.step_count(), 2);
}

TEST_F(RefusedRates, LoseNoSample) {
  {
    Session session(ClassifierNet{}, Accumulate{adam}, options), undisturbed(ClassifierNet{}, Accumulate{adam}, options);
    expect_step_after_a_refused_rate(session, undisturbed, rate, [&](auto& to) { give(to, 0, 64); });
    EXPECT_EQ(differing_bits(session.parameter_bytes(), undisturbed.parameter_bytes()), 0);
  }
  Parameters parameters(Device::cpu()), others(Device::cpu());
  const Classifier net(parameters.root()), other_net(others.root());
  Session session(parameters, Accumulate{adam}, options), undisturbed(others, Accumulate{adam}, options);
  expect_step_after_a_refused_rate(session, undisturbed, rate, [&](auto& to) {
    const Classifier& of = &to == &session ? net : other_net;
    to.accumulate(64, [&](EagerTape& tape) {
      return of.loss(tape.input(std::span(x).first(64 * 9), {9}), tape.input(std::span(y).first(64)));
    });
  });
  EXPECT_TRUE(std::ranges::equal(parameters.values(), others.values()));
}

TEST_F(RefusedRates, EndWindowsOfCallsLater) {
  Session session(ClassifierNet{}, Accumulate{adam, 2}, options), undisturbed(ClassifierNet{}, Accumulate{adam, 2}, options);
  for (std::size_t at = 0; at < 60; at += 10) give(undisturbed, at, 10);
  give(session, 0, 10);
  refuse_step(session, [&] { give(session, 10, 10); });
  for (std::size_t at = 20; at < 60; at += 10) give(session, at, 10);
  EXPECT_EQ(session.step_count(), 3);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), undisturbed.parameter_bytes()), 0);
}

TEST_F(RefusedRates, EndFlushedWindowsLater) {
  Session session(ClassifierNet{}, Accumulate{adam}, options), undisturbed(ClassifierNet{}, Accumulate{adam}, options);
  for (const std::size_t at : {0, 10}) give(undisturbed, at, 10), undisturbed.flush();
  give(session, 0, 10);
  refuse_step(session, [&] { session.flush(); });
  session.evaluate(x, y);
  EXPECT_EQ(give(session, 10, 10), 1) << "the step that was waited for";
  EXPECT_EQ(session.flush(), 1);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), undisturbed.parameter_bytes()), 0);
}

TEST_F(RefusedRates, LetTheNextSamplesBeginABlock) {
  Session session(ClassifierNet{}, Accumulate{adam},
                  {.global_batch = 192, .micro_batch = 192, .open_blocks = OpenBlocks::as_needed});
  give(session, 0, 128);
  refuse_step(session, [&] { session.flush(); });
  EXPECT_EQ(error_of<OptionError>([&] { give(session, 128, 64); }),
            "accumulate: a part of 64 samples ends inside a block of 128; OpenBlocks::always allows parts of any size");
  EXPECT_EQ(give(session, 0, 128), 1);
  EXPECT_EQ(give(session, 128, 64), 1);
}

TEST_F(RefusedRates, LeaveTheWindowInPlaceOfWhichAGradientWasNotApplied) {
  Session session(ClassifierNet{}, Accumulate{adam}, options);
  give(session, 0, 10);
  const std::vector<float> gradient(session.parameters().values().size(), 1.0f);
  refuse([&] { session.apply(gradient, 1); });
  EXPECT_EQ(session.position(), 10);
}

TEST_F(RefusedRates, AreWaitedForInTheFirstEvaluationOfAWindow) {
  const auto sam = Accumulate{Sam{adam}};
  Session session(ClassifierNet{}, sam, options), undisturbed(ClassifierNet{}, sam, options);
  for (int evaluation = 0; evaluation < 2; ++evaluation) give(undisturbed, 0, 10), undisturbed.flush();
  give(session, 0, 10);
  refuse_step(session, [&] { session.flush(); });
  EXPECT_EQ(error_of<OptionError>([&] { give(session, 0, 11); }),
            "accumulate: 11 samples, but 10 end the window; the optimizer evaluates each window twice, so none may go into the "
            "next");
  give(session, 0, 10);
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), undisturbed.parameter_bytes()), 0);
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  give(session, 0, 10), session.flush();
  rate = std::numeric_limits<double>::quiet_NaN();
  session.discard();  // goes back, which no rate is needed for
  rate = 0.1;
  EXPECT_EQ(differing_bits(session.parameter_bytes(), before), 0);
}

/// A window that is dropped when its step is made must be given anew, so that fewer samples fit than after a step.
TEST_F(RefusedRates, AreFollowedByTheSamplesOfADroppedWindow) {
  Session session(ClassifierNet{}, Accumulate{Sam{adam}}, {.global_batch = 64, .window_samples = schedule::step(32, 1, 2)});
  give(session, 0, 32);
  EXPECT_TRUE(session.again());
  std::vector<float> huge(x.begin(), x.begin() + 32 * 9);
  std::fill_n(huge.begin(), 9, std::numeric_limits<float>::max());
  refuse_step(session, [&] { session.accumulate(huge, std::span(y).first(32)); });
  EXPECT_EQ(error_of<OptionError>([&] { give(session, 0, 64); }).substr(0, 49),
            "accumulate: 64 samples, but 32 end the window; th");
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(session.position(), 0);
  for (int evaluation = 0; evaluation < 2; ++evaluation) give(session, 0, 32);
  EXPECT_EQ(session.step_count(), 1);
}

}  // namespace refused_rates_test
