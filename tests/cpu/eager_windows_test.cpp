// Eager windows of several computations: what enters once, where their blocks end, and what is undone.
#include <gtest/gtest.h>

#include <cmath>

#include "../models.hpp"

using namespace models;

namespace {

struct Pair {
  Parameter p, q;
  explicit Pair(Scope s) : p(s.parameter("p", Shape{}, init::constant(0.5))), q(s.parameter("q", Shape{}, init::constant(0.25))) {}
  Var penalty(Var like) const { return 0.5 * (p.on(like) * p.on(like) + q.on(like) * q.on(like)); }
};

TEST(EagerWindows, ATermEntersAWindowOfSeveralComputationsOnce) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{.learning_rate = 1}}, {.global_batch = 4});
  const float ones[] = {1, 1};
  for (const Parameter* parameter : {&pair.p, &pair.q})
    session.accumulate(2, [&](EagerTape& tape) {
      const Var x = tape.input(ones);
      return Loss(x * parameter->on(x)).plus(pair.penalty(x));
    });
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(parameters.values()[0], 0.5f - (2.0f / 4 + 0.5f));
  EXPECT_EQ(parameters.values()[1], 0.25f - (2.0f / 4 + 0.25f));
}

TEST(EagerWindows, BlocksEndWhereOthersComputedMeanwhile) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 192});
  std::vector<float> x(64, 1.0f), large(64);
  large[0] = 1e8f;  // a chain that went on from here would lose each 1 that is added
  const auto give = [&](const Parameter& parameter, const std::vector<float>& values) {
    session.accumulate(64, [&](EagerTape& tape) {
      const Var in = tape.input(values);
      return Loss(in * parameter.on(in));
    });
  };
  give(pair.p, large);
  give(pair.q, x);
  give(pair.p, x);  // in the next block of 128
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(session.last_gradient()[0], 1e8f + 64);
  EXPECT_EQ(session.last_gradient()[1], 64);
}

TEST(EagerWindows, AnInfiniteSumInAnOpenBlockIsUndone) {
  Parameters parameters(Device::cpu());
  const Pair pair(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .micro_batch = 3, .non_finite = NonFinite::drop_micro_batch});
  std::vector<float> x(8, 1.0f);
  x[4] = 0;  // whose root is 0, and has no slope
  const auto record = [&](EagerTape& tape) {
    const Var in = tape.input(x);
    return Loss(sqrt(in * pair.p.on(in)));
  };
  EXPECT_EQ(session.accumulate(8, record), 1);
  EXPECT_EQ(session.dropped_micro_batches(), 1);
  EXPECT_EQ(session.dropped_windows(), 0);
  EXPECT_FLOAT_EQ(session.last_gradient()[0], 5 * 0.5f / std::sqrt(0.5f));
}

}  // namespace
