// Adapters around an update rule: what each does, what their order means, and that none of them knows of the window.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace adapters_test {

using namespace models;

const auto x = numbers(512 * 9);
const auto y = labels(512, 5);

template <class Rule>
auto session_of(const Rule& rule, std::int64_t micro_batch = 64) {
  return Session(ClassifierNet{}, Accumulate{rule}, {.global_batch = 64, .micro_batch = micro_batch, .seed = 7});
}

template <class S>
std::vector<float> values(const S& session) {
  const auto parameters = session.parameters();
  return {parameters.values().begin(), parameters.values().end()};
}

/// Returns the first step by a rule, which is the mean gradient as its adapters change it if the learning rate is 1.
std::vector<float> first_step(const auto& rule) {
  auto session = session_of(rule);
  const auto before = values(session);
  session.accumulate(std::span(x).first(64 * 9), std::span(y).first(64));
  auto step = values(session);
  for (std::size_t i = 0; i < step.size(); ++i) step[i] = before[i] - step[i];
  return step;
}

constexpr Sgd plain{.learning_rate = 1.0f};

TEST(ClipByValue, BoundsEveryElement) {
  const auto free = first_step(plain), clipped = first_step(ClipByValue{plain, 0.01});
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    beyond += std::abs(free[i]) > 0.01f;
    EXPECT_NEAR(clipped[i], std::clamp(free[i], -0.01f, 0.01f), 1e-7f);
  }
  EXPECT_GT(beyond, 10u);
}

TEST(Adapters, TheOuterOneSeesTheGradientFirst) {
  double norm = 0, largest = 0;
  for (const float g : first_step(ClipByValue{ClipByGlobalNorm{plain, 0.5}, 0.01}))
    largest = std::max<double>(largest, std::abs(g));
  for (const float g : first_step(ClipByGlobalNorm{ClipByValue{plain, 0.01}, 0.5})) norm += static_cast<double>(g) * g;
  EXPECT_LE(largest, 0.01 + 1e-7);  // small elements have a small norm: nothing is left to clip
  EXPECT_LT(std::sqrt(norm), 0.5);  // scaled to the norm first, and then cut again
}

TEST(Ema, FollowsTheParameters) {
  auto session = session_of(Ema{Adam{.learning_rate = 0.05f}, 0.75});
  std::vector<float> average;
  EXPECT_TRUE(std::ranges::equal(session.averaged_parameters().values(), session.parameters().values()));
  for (int step = 0; step < 5; ++step) {
    session.accumulate(std::span(x).first(64 * 9), std::span(y).first(64));
    const auto now = values(session);
    if (step == 0) average = now;
    for (std::size_t i = 0; i < now.size(); ++i)
      if (step > 0) average[i] = 0.75f * average[i] + (1.0f - 0.75f) * now[i];
  }
  const auto kept = session.averaged_parameters();
  EXPECT_TRUE(std::ranges::equal(kept.values(), average));
  EXPECT_EQ(kept["hidden/weight"].values.size(), 9u * 17u);
}

TEST(Ema, KeepsACopyOfEveryThirdStep) {
  auto session = session_of(Ema{Adam{.learning_rate = 0.05f}, schedule::every(3, 0.0, 1.0)});
  std::vector<float> copy;
  for (int step = 1; step <= 8; ++step) {
    session.accumulate(std::span(x).first(64 * 9), std::span(y).first(64));
    if (step == 1 || step % 3 == 0) copy = values(session);
    EXPECT_TRUE(std::ranges::equal(session.averaged_parameters().values(), copy)) << step;
  }
}

TEST(Ema, DoesNotDisturbTraining) {
  auto with = session_of(ClipByGlobalNorm{Ema{AdamW{}}, 1.0});
  auto without = session_of(ClipByGlobalNorm{AdamW{}, 1.0});
  with.accumulate(x, y);
  without.accumulate(x, y);
  EXPECT_EQ(with.step_count(), 8);
  EXPECT_EQ(values(with), values(without));
}

TEST(WeightDecay, DecaysWhatIsNamed) {
  const std::vector<float> decayed = first_step(WeightDecay{plain, 0.25, {{"*/weight"}}}), free = first_step(plain);
  auto session = session_of(plain);
  const auto start = values(session);
  for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
    const bool is_weight = ClassifierNet::parameter(p).name.view().ends_with("weight");
    for (std::int64_t i = ClassifierNet::parameter_offset(p); i < ClassifierNet::parameter_offset(p + 1); ++i) {
      const auto k = static_cast<std::size_t>(i);
      EXPECT_NEAR(decayed[k] - free[k], is_weight ? 0.25f * start[k] : 0.0f, 1e-6f);
    }
  }
}

TEST(ScaleUpdate, GivesAGroupAnotherRate) {
  const auto scaled = first_step(ScaleUpdate{plain, 0.125, {{"output/*"}}}), free = first_step(plain);
  const auto boundary = static_cast<std::size_t>(ClassifierNet::parameter_offset(2));
  for (std::size_t i = 0; i < free.size(); ++i) EXPECT_NEAR(scaled[i], i < boundary ? free[i] : 0.125f * free[i], 1e-6f);
  for (std::size_t i = 0; i < boundary; ++i) EXPECT_EQ(scaled[i], free[i]);
}

TEST(Lookahead, ReturnsToTheSlowParameters) {
  auto session = session_of(Lookahead{plain, schedule::every(2), 0.25});
  auto fast = session_of(plain);
  const auto start = values(session);
  for (int step = 0; step < 2; ++step)
    session.accumulate(std::span(x).first(64 * 9), std::span(y).first(64));
  for (int step = 0; step < 2; ++step) fast.accumulate(std::span(x).first(64 * 9), std::span(y).first(64));
  const auto slow = values(session), ahead = values(fast);
  for (std::size_t i = 0; i < start.size(); ++i) EXPECT_EQ(slow[i], start[i] + 0.25f * (ahead[i] - start[i]));
}

constexpr auto nest = LossScale{Ema{Lookahead{
    WeightDecay{ScaleUpdate{ClipByValue{ClipByGlobalNorm{Adam{}, 0.5}, 0.1}, 0.5, {{"hidden/*"}}}, 1e-3, {{"*/weight"}}}}}};

TEST(Adapters, EndInTheSameBitsHoweverTheWindowIsSplit) {
  auto whole = session_of(nest), parts = session_of(nest, 7);
  for (int round = 0; round < 3; ++round) {
    whole.accumulate(x, y);
    parts.accumulate(x, y);
  }
  EXPECT_EQ(parts.step_count(), 24);
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), parts.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(whole.optimizer_state_bytes(), parts.optimizer_state_bytes()), 0);
}

/// Returns the parameters after eight windows, and expects them not to depend on the split.
std::vector<float> after_eight_windows(const auto& rule) {
  auto whole = session_of(rule), parts = session_of(rule, 7);
  whole.accumulate(x, y);
  parts.accumulate(x, y);
  EXPECT_EQ(parts.step_count(), 8);
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), parts.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(whole.optimizer_state_bytes(), parts.optimizer_state_bytes()), 0);
  return values(whole);
}

TEST(Adapters, AdvanceOncePerWindowInAnyOrder) {  // case 6: moments, decay, schedule, average
  constexpr AdamW halved{.learning_rate = schedule::step(0.01, 1, 0.5), .weight_decay = 0.1f};
  const auto expected = after_eight_windows(ClipByGlobalNorm{halved, 0.5});
  EXPECT_EQ(after_eight_windows(Ema{ClipByGlobalNorm{halved, 0.5}}), expected);
  EXPECT_EQ(after_eight_windows(ClipByGlobalNorm{Ema{halved}, 0.5}), expected);
}

TEST(Adapters, RunEagerToTheSameBits) {
  auto compiled = session_of(nest);
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  Session eager(parameters, Accumulate{nest}, {.global_batch = 64, .seed = 7});
  compiled.accumulate(x, y);
  eager.accumulate(512, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  const auto expected = values(compiled);
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(expected)), eager.parameter_bytes()), 0);
}

TEST(Adapters, AreSavedAndRestored) {
  auto first = session_of(nest), second = session_of(nest, 7);
  first.accumulate(x, y);
  second.restore(first.state());
  first.accumulate(x, y);
  second.accumulate(x, y);
  EXPECT_EQ(differing_bits(first.optimizer_state_bytes(), second.optimizer_state_bytes()), 0);
}

TEST(Adapters, RefuseNamesThatNoParameterHas) {
  auto rule = nest;
  ParameterNames &decayed = rule.inner.inner.inner.only, &scaled = rule.inner.inner.inner.inner.only;
  decayed = {{"*/weight", "hiden/*"}};
  EXPECT_EQ(error_of<OptionError>([&] { session_of(rule); }),
            "an optimizer: no parameter is named 'hiden/*'; there are 'hidden/weight', 'hidden/bias', 'output/weight', "
            "'output/bias'");
  decayed = nest.inner.inner.inner.only, scaled = {{"bias"}};
  EXPECT_THROW(session_of(rule), OptionError);
  scaled = {};
  EXPECT_EQ(error_of<OptionError>([&] { session_of(rule); }),
            "an optimizer: an adapter names none of the parameters; {{\"*\"}} names all");
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  scaled = {{"wieght"}};
  EXPECT_THROW(Session(parameters, Accumulate{rule}, {.global_batch = 64}), OptionError);
}

}  // namespace adapters_test
