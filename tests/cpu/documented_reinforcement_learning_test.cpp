// Policies, masked actions and target networks: the code of the guide to reinforcement learning.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gradual/check/test_model.hpp>

#include "../documented.hpp"

namespace documented_reinforcement_learning_test {

using namespace documented;

struct ActorCritic {
  nn::Linear hidden, policy, value;
  Parameter bonus;
  constexpr explicit ActorCritic(Scope s)
      : hidden(s / "hidden", 4, 32), policy(s / "policy", 32, 2), value(s / "value", 32, 1),
        bonus(s.parameter("bonus", Shape{}, init::constant(0.01))) {}
  constexpr Var predict(Var state) const {
    const Var h = tanh(hidden(state));
    return concat({policy(h), value(h)}, 1);
  }
  constexpr Loss loss(Var state, Var action, Var old, Var advantage, Var wanted) const {
    const Var both = predict(state), logits = slice(both, 1, 0, 2);
    const Var ratio = exp(-cross_entropy(logits, action) - old), entropy = -sum(softmax(logits) * log_softmax(logits), {1});
    const Var gain = minimum(ratio * advantage, clamp(ratio, 0.8, 1.2) * advantage);
    return {0.5 * square(select(both, 1, 2) - wanted) - gain - bonus * entropy, metric("entropy", entropy)};
  }
};
using AcNet = Compiled<ActorCritic, Inputs<f32[4], i32, f32, f32, f32>>;

struct Masked {
  nn::Linear policy;
  constexpr explicit Masked(Scope s) : policy(s / "policy", 4, 3) {}
  constexpr Var scores(Var state, Var allowed) const { return where(allowed > 0.5, policy(state), -HUGE_VAL); }
  constexpr Loss loss(Var state, Var allowed, Var action, Var advantage) const {
    const Var z = scores(state, allowed), p = softmax(z), entropy = -sum(xlogy(p, p), {1});
    return {cross_entropy(z, action) * advantage - 0.01 * entropy};
  }
};
struct MaskedTooLate : Masked {
  using Masked::Masked;
  constexpr Loss loss(Var state, Var allowed, Var, Var) const {
    const Var z = scores(state, allowed);
    return {sum(where(allowed > 0.5, softmax(z) * log_softmax(z), 0.0), {1})};
  }
};
template <class Policy>
using MaskedNet = Compiled<Policy, Inputs<f32[4], f32[3], i32, f32>>;

struct ActionValues {
  nn::Linear hidden, output;
  constexpr explicit ActionValues(Scope s) : hidden(s / "hidden", 4, 32), output(s / "output", 32, 2) {}
  constexpr Var predict(Var state) const { return output(tanh(hidden(state))); }
  constexpr Loss loss(Var state, Var action, Var wanted) const {
    return {square(pick(predict(state), action) - wanted)};
  }
};
using ValueNet = Compiled<ActionValues, Inputs<f32[4], i32, f32>>;

/// Samples of a game of one move, which is worth 1 where it tells the sign of the state's first number, else 0.
struct Rollout {
  std::vector<float> state, log_probability, advantage, wanted;
  std::vector<std::int32_t> action;
  double mean() const { return std::reduce(wanted.begin(), wanted.end()) / static_cast<double>(wanted.size()); }
};

TEST_F(Documented, APolicyAndItsValue) {
  std::mt19937 random(1);
  std::vector<double> worth;
  const auto play = [&](Inference<AcNet>& act) {
    Rollout r;
    std::vector<float> out(3);
    for (int i = 0; i < 150; ++i) {
      const std::vector<float> state = models::numbers(4, static_cast<unsigned>(random()));
      act(state, out);
      const double second = 1 / (1 + std::exp(double{out[0]} - double{out[1]}));
      const int action = std::uniform_real_distribution<>()(random) < second;
      r.state.insert(r.state.end(), state.begin(), state.end());
      r.action.push_back(action);
      r.wanted.push_back(static_cast<float>((state[0] > 0) == (action == 1)));
      r.advantage.push_back(r.wanted.back() - out[2]);
      r.log_probability.push_back(static_cast<float>(std::log(action == 1 ? second : 1 - second)));
    }
    worth.push_back(r.mean());
    return r;
  };
  Session session(AcNet{}, Accumulate{Adam{.learning_rate = 5e-3}}, {.global_batch = 64, .gather = true, .freeze = {"bonus"}});
  Inference<AcNet> act(session.parameters());
  for (std::uint64_t epoch = 0; epoch < 80;) {
    const Rollout r = play(act);
    std::vector<std::int32_t> order(r.action.size());
    for (const std::uint64_t end = epoch + 4; epoch < end; ++epoch) {
      shuffle(order, 1, epoch);
      for (std::int64_t done = 0; done < std::ssize(order);) {
        const auto rows = std::span(order).subspan(static_cast<std::size_t>(done));
        session.accumulate_rows(rows, epoch, true, done, r.state, r.action, r.log_probability, r.advantage, r.wanted);
      }
    }
    act.set_parameters(session.parameters());
    session.parameters()["bonus"].values[0] *= 0.9f;
  }
  EXPECT_EQ(session.step_count(), 80 * 3) << "64, 64 and 22 samples";
  EXPECT_LT(worth.front(), 0.7);
  EXPECT_GT(worth.back(), 0.9);
}

TEST_F(Documented, ActionsThatAreNotAlwaysAllowed) {
  const std::vector<float> state = models::numbers(64 * 4), advantage(64, 1);
  std::vector<float> allowed(64 * 3, 1);
  std::vector<std::int32_t> action(64);
  for (std::size_t i = 0; i < 64; ++i) {
    action[i] = static_cast<std::int32_t>(i % 3);
    allowed[3 * i + (i + 1) % 3] = 0;
  }
  Session session(MaskedNet<Masked>{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(session.accumulate(state, allowed, action, advantage), 1);
  EXPECT_TRUE(test_model(MaskedNet<Masked>{}, session.parameters().values(), state, allowed, action, advantage).mistakes.empty());
  action[0] = 1;
  EXPECT_EQ(session.accumulate(state, allowed, action, advantage), 0);

  Session too_late(MaskedNet<MaskedTooLate>{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(too_late.accumulate(state, allowed, action, advantage), 0);
  EXPECT_EQ(too_late.dropped_windows(), 1);
  EXPECT_TRUE(std::isfinite(too_late.evaluate(state, allowed, action, advantage).loss())) << "its gradient is not";
}

TEST_F(Documented, ATargetNetwork) {
  constexpr auto copied = Accumulate{Ema{Adam{.learning_rate = 1e-2}, schedule::every(100, 0.0, 1.0)}};
  Session session(ValueNet{}, copied, {.global_batch = 64});
  Inference<ValueNet> act(session.parameters()), target(session.parameters(), 64);
  const std::vector<float> state = models::numbers(64 * 4);
  const std::vector<std::int32_t> action = models::labels(64, 2);
  std::vector<float> wanted(64), next(64 * 2), now(64 * 2);
  for (int step = 0; step < 250; ++step) {
    target(state, next);
    for (std::size_t i = 0; i < 64; ++i) wanted[i] = 1 + 0.5f * std::max(next[2 * i], next[2 * i + 1]);
    session.accumulate(state, action, wanted);
    act.set_parameters(session.parameters());
    if (session.step_count() % 100 == 0) target.set_parameters(session.parameters());
  }
  target(state, next);
  act(state, now);
  EXPECT_NE(now, next);
  act.set_parameters(session.averaged_parameters());
  act(state, now);
  EXPECT_EQ(now, next) << "of step 200";
}

}  // namespace documented_reinforcement_learning_test
