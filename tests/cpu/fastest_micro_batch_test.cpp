// The micro-batch that measurements choose: the rule on given curves, and that measuring leaves nothing behind. How
// long anything takes is not tested.
#include <gtest/gtest.h>

#include <sstream>

#include "../count_allocations.hpp"
#include "../models.hpp"

namespace fastest_micro_batch_test {

using namespace models;

std::int64_t chosen(std::vector<MicroBatchSpeed> curve) { return smallest_fast(curve).micro_batch; }

TEST(FastestMicroBatch, IsTheSmallestOfThoseThatAreFast) {
  EXPECT_EQ(chosen({{1, 100, 3.0}, {2, 200, 2.0}, {4, 400, 1.02}, {8, 800, 1.0}}), 4);
  EXPECT_EQ(chosen({{1, 100, 1.0}, {2, 200, 1.0}, {4, 400, 1.0}}), 1);
  EXPECT_EQ(chosen({{1, 100, 1.0}, {2, 200, 1.1}, {4, 400, 1.2}}), 1);
  EXPECT_EQ(chosen({{1, 100, 1.04}, {2, 200, 1.2}, {4, 400, 1.0}}), 4) << "a slower one in between";
  EXPECT_EQ(chosen({{8, 800, 2.0}, {2, 200, 2.0625}, {1, 100, 2.0626}, {4, 400, 2.0}}), 4) << "in any order";
  EXPECT_EQ(chosen({{1, 100, 1.03125}, {2, 200, 1.0}}), 2);
  EXPECT_EQ(smallest_fast(std::vector<MicroBatchSpeed>{{1, 100, 1.03125}, {2, 200, 1.0}}, 0.03125).micro_batch, 1);
  EXPECT_EQ(chosen({{7, 700, 5.0}}), 7);
  EXPECT_THROW(chosen({}), OptionError);
}

TEST(FastestMicroBatch, MakesUpSamplesOfAnyType) {
  EXPECT_EQ(gradual::detail::made_up_samples<i32[3]>(2), std::vector<i32>(6));
  for (const double v : gradual::detail::made_up_samples<f64[3]>(2)) EXPECT_TRUE(v > 0 && v < 1) << v;
  for (const bf16 v : gradual::detail::made_up_samples<bf16[3]>(2)) EXPECT_GT(static_cast<float>(v), 0);
}

TEST(FastestMicroBatch, StaysInItsBudgetAndLeavesNothingBehind) {
  constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};
  const auto x = numbers(96 * 9);
  const auto y = labels(96, 5);
  Session session(DroppedNet{}, optimizer, {.global_batch = 64, .micro_batch = 20, .seed = 3});
  Session other(DroppedNet{}, optimizer, {.global_batch = 64, .micro_batch = 20, .seed = 3});
  session.accumulate(x, y);  // into a window
  other.accumulate(x, y);
  const std::int64_t live = live_bytes, budget = session.memory().total();
  {
    const SessionOptions options{.global_batch = 64, .memory_budget = budget, .seed = 3};
    const MicroBatchSpeeds speeds = fastest_micro_batch(DroppedNet{}, optimizer, options, 2);
    ASSERT_GE(speeds.curve.size(), 5u);
    const Session largest(DroppedNet{}, optimizer, options);
    EXPECT_EQ(speeds.curve.front().micro_batch, 1);
    EXPECT_EQ(speeds.curve.back().micro_batch, largest.options().micro_batch);
    for (const MicroBatchSpeed& point : speeds.curve) {
      EXPECT_LE(point.bytes, budget) << point.micro_batch;
      EXPECT_GT(point.seconds_per_sample, 0) << point.micro_batch;
    }
    EXPECT_EQ(speeds.chosen.micro_batch, smallest_fast(speeds.curve).micro_batch);
    std::ostringstream text;
    text << speeds;
    EXPECT_NE(text.str().find("<- chosen"), std::string::npos) << text.str();
  }
  EXPECT_EQ(live_bytes - live, 0);
  session.accumulate(x, y);
  other.accumulate(x, y);
  EXPECT_EQ(session.position(), other.position());
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(session.optimizer_state_bytes(), other.optimizer_state_bytes()), 0);
}

TEST(FastestMicroBatch, TakesSamplesOfEveryKindAndRefusesWhatASessionRefuses) {
  EXPECT_FALSE(fastest_micro_batch(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 4}, 1).curve.empty());
  EXPECT_THROW(fastest_micro_batch(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 4, .memory_budget = 0}),
               MemoryError);
  EXPECT_THROW(fastest_micro_batch(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = -1}), OptionError);
}

}  // namespace fastest_micro_batch_test
