// Accumulated windows against large batches: cases 1, 2, 3, 6, 8 and 11 of the hard cases, and the window's rules.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace accumulation_test {

using namespace models;

using Split = std::vector<std::size_t>;

template <class Net, class Optimizer, class... V>
std::vector<std::byte> train(const Optimizer& optimizer, const Split& split, int steps, const V&... data) {
  const std::size_t window = 1024;
  Session session(Net{}, optimizer, {.global_batch = static_cast<std::int64_t>(window), .seed = 7});
  while (session.step_count() < steps) {
    std::size_t at = 0;
    for (std::size_t part : split) {
      session.accumulate(std::span(data).subspan(at * (data.size() / window), part * (data.size() / window))...);
      at += part;
    }
    EXPECT_EQ(at, window);
  }
  std::vector<std::byte> state(session.parameter_bytes().begin(), session.parameter_bytes().end());
  state.insert(state.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return state;
}

template <class Net, class Optimizer, class... V>
void expect_no_differing_bits(const Optimizer& optimizer, const V&... data) {
  const Split splits[] = {Split(16, 64), {341, 341, 341, 1}, {7, 100, 1, 300, 616}};
  const auto whole = train<Net>(optimizer, {1024}, 100, data...);
  for (const Split& split : splits)
    EXPECT_EQ(differing_bits(whole, train<Net>(optimizer, split, 100, data...)), 0) << "split of " << split.size();
}

/// Case 1; each rule alone is in every_rule_split_test.cpp.
TEST(Splits, OfWindowsChangeNoBit) {
  const auto x = numbers(1024 * 9);
  const auto y = labels(1024, 5);
  expect_no_differing_bits<ClassifierNet>(Accumulate<ClipByGlobalNorm<Sgd>>{}, x, y);
  expect_no_differing_bits<ClassifierNet>(Accumulate<ClipByGlobalNorm<Adam>>{}, x, y);
  auto weights = numbers(1024, 3);
  for (float& w : weights) w = w < 0 ? 0.0f : w;
  expect_no_differing_bits<WeightedNet>(Accumulate<Adam>{}, numbers(1024 * 4), numbers(1024 * 3, 2), weights);
  expect_no_differing_bits<WeightedNet>(Accumulate<ClipByGlobalNorm<Sgd>>{}, numbers(1024 * 4), numbers(1024 * 3, 2), weights);
  expect_no_differing_bits<SequenceNet>(Accumulate<AdamW>{}, numbers(1024 * 18), numbers(1024 * 6, 2));
  expect_no_differing_bits<SequenceNet>(Accumulate<ClipByGlobalNorm<Adam>>{}, numbers(1024 * 18), numbers(1024 * 6, 2));
}

/// loss = p · x, so that the gradient of p is the weighted mean of x.
struct Mean {
  Parameter p;
  constexpr explicit Mean(Scope s) : p(s.parameter("p", Shape{2}, init::zeros())) {}
  constexpr Loss loss(Var x, Var w) const { return Loss(sum(x * p, {-1})).weighted_by(w); }
};
using MeanNet = Compiled<Mean, Inputs<f32[2], f32>>;
constexpr auto descent = Accumulate{Sgd{.learning_rate = 1.0f}};

TEST(Weights, MicroBatchesOfTenAndNinetyTokensGiveTheMeanOverTokens) {  // case 2
  for (const float other : {0.1f, 0.125f}) {
    Session session(MeanNet{}, descent, {.global_batch = 100});
    session.accumulate(std::vector<float>(20, 1.0f), std::vector<float>(10, 1.0f));
    session.accumulate(std::vector<float>(180, other), std::vector<float>(90, 1.0f));
    EXPECT_EQ(session.step_count(), 1);
    float sum = 0;  // 0.1 is rounded 90 times, 0.125 never; a mean of means gives 0.55 and 0.5625
    for (int i = 0; i < 100; ++i) sum += i < 10 ? 1.0f : other;
    EXPECT_EQ(session.parameters()["p"].values[0], -sum / 100.0f);
    EXPECT_NEAR(sum / 100.0f, other == 0.125f ? 0.2125f : 0.19f, 1e-6f);
  }
}

TEST(Weights, AMicroBatchWithoutWeightChangesNothing) {  // case 2
  Session with(MeanNet{}, descent, {.global_batch = 8}), without(MeanNet{}, descent, {.global_batch = 4});
  with.accumulate(numbers(8), std::vector<float>(4, 0.0f));
  with.accumulate(numbers(8, 5), std::vector<float>(4, 0.5f));
  without.accumulate(numbers(8, 5), std::vector<float>(4, 0.5f));
  EXPECT_EQ(differing_bits(with.parameter_bytes(), without.parameter_bytes()), 0);
}

TEST(Weights, AWindowWithoutWeightMakesNoStep) {  // case 2
  Session session(MeanNet{}, descent, {.global_batch = 4});
  EXPECT_EQ(session.accumulate(numbers(8), std::vector<float>(4, 0.0f)), 0);
  EXPECT_EQ(session.step_count(), 0);
  EXPECT_EQ(session.parameters()["p"].values[0], 0.0f);
  EXPECT_EQ(session.accumulate(numbers(8), std::vector<float>(4, 1.0f)), 1);
}

TEST(Weights, APowerOfTwoDividesToTheBitsOfTheQuotient) {
  for (const float weight : {0.125f, 1.0f, 64.0f, 3.0f}) {
    Session session(MeanNet{}, descent, {.global_batch = 1});
    session.accumulate(std::vector<float>{0.1f, 0x1p-140f}, std::vector<float>{weight});
    EXPECT_EQ(session.parameters()["p"].values[0], -(0.1f * weight / weight));
    EXPECT_EQ(session.parameters()["p"].values[1], -(0x1p-140f * weight / weight));
  }
}

TEST(Weights, ASumThatNothingCanBeDividedByIsAnErrorAndForgotten) {
  for (const float weight : {-1.0f, 0x1p-130f}) {
    Session session(MeanNet{}, descent, {.global_batch = 2});
    const std::vector<float> x(4, 1.0f);
    EXPECT_THROW(session.accumulate(x, std::vector<float>(2, weight)), DataError);
    EXPECT_EQ(session.parameters()["p"].values[0], 0.0f);
    EXPECT_EQ(session.accumulate(x, std::vector<float>(2, 1.0f)), 1);
    EXPECT_EQ(session.parameters()["p"].values[0], -1.0f);
  }
}

TEST(Weights, BelowZeroAreAnErrorAndWithoutAnyThereIsNoStep) {
  Session session(MeanNet{}, descent, {.global_batch = 2});
  const std::vector<float> x(4, 1.0f), ones(2, 1.0f), below{1.0f, -0.5f}, none(2, 0.0f);
  session.accumulate(x, ones);
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(x, below); }),
            "weight 1 of a window is -0.5: a mean takes none below 0; multiply the loss by such factors, or use "
            "Reduction::sum");
  EXPECT_EQ(session.parameters()["p"].values[0], -1.0f);
  EXPECT_EQ(session.accumulate(x, none), 0);
  EXPECT_EQ(session.accumulate(x, ones), 1);
}

TEST(RaggedTail, TenMicroBatchesInWindowsOfFourAreThreeSteps) {  // case 3
  Session session(MeanNet{}, descent, {.global_batch = 4});
  int steps = 0;
  for (int i = 0; i < 10; ++i) steps += session.accumulate(std::vector<float>(2, 3.0f), std::vector<float>(1, 1.0f));
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(session.position(), 2);
  EXPECT_EQ(session.flush(), 1);
  EXPECT_EQ(session.parameters()["p"].values[0], -9.0f);  // each window divided by its own weight
  EXPECT_EQ(session.flush(), 0);
}

TEST(RaggedTail, TwoHundredAndSixtySamplesInWindowsOf256) {  // case 3
  Session session(MeanNet{}, descent, {.global_batch = 256, .micro_batch = 100});
  EXPECT_EQ(session.accumulate(numbers(520), std::vector<float>(260, 1.0f)), 1);
  EXPECT_EQ(session.position(), 4);
  EXPECT_EQ(session.flush(), 1);
}

TEST(Window, CountsCallsWhereEveryIsSet) {
  Session session(MeanNet{}, Accumulate{Sgd{.learning_rate = 1.0f}, 3}, {.micro_batch = 2});
  int steps = 0;
  for (int i = 0; i < 7; ++i) steps += session.accumulate(numbers(10, 5), std::vector<float>(5, 1.0f));
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(session.flush(), 1);
}

TEST(Session, CanBeMovedInTheMiddleOfAWindow) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Session still(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 1});
  std::vector<decltype(still)> moving;
  moving.emplace_back(ClassifierNet{}, Accumulate{Adam{}}, SessionOptions{.global_batch = 64, .seed = 1});
  for (int i = 0; i < 12; ++i) {
    still.accumulate(x, y);
    moving.back().accumulate(std::span(x).first(20 * 9), std::span(y).first(20));
    auto moved = std::move(moving.back());
    moving.clear();
    moving.push_back(std::move(moved));
    moving.back().accumulate(std::span(x).subspan(20 * 9), std::span(y).subspan(20));
  }
  EXPECT_EQ(differing_bits(still.parameter_bytes(), moving.back().parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(still.optimizer_state_bytes(), moving.back().optimizer_state_bytes()), 0);
}

TEST(Clip, ActsOnceOnTheMeanOfTheWindow) {  // case 6
  const auto optimizer = Accumulate{ClipByGlobalNorm{Sgd{.learning_rate = 1.0f}, 1.0f}};
  Session session(MeanNet{}, optimizer, {.global_batch = 2});
  session.accumulate(std::vector<float>{2, 0}, std::vector<float>{1});
  session.accumulate(std::vector<float>{0, 2}, std::vector<float>{1});
  EXPECT_NEAR(session.parameters()["p"].values[0], -0.70710678f, 1e-7f);
  EXPECT_NEAR(session.parameters()["p"].values[1], -0.70710678f, 1e-7f);
}

TEST(ConditionalParameter, KeepsTheGradientOfAnEarlierMicroBatch) {  // case 8
  Session session(MeanNet{}, descent, {.global_batch = 4});
  session.accumulate(std::vector<float>{8, 0}, std::vector<float>{1});
  for (int i = 0; i < 3; ++i) session.accumulate(std::vector<float>{0, 4}, std::vector<float>{1});
  EXPECT_EQ(session.parameters()["p"].values[0], -2.0f);
  EXPECT_EQ(session.parameters()["p"].values[1], -3.0f);
}

int boundaries = 0, updates = 0;  // runs of the part of backward that no sample enters, and of the rule
const void* rule = nullptr;       // its kernels

/// The processor, counting.
struct Counting : Cpu {
  struct Queue : Cpu::Queue {
    using Cpu::Queue::Queue;
    void run(const Kernels& kernels, Phase which, const StepArguments& arguments) const {
      boundaries += which == Phase::boundary;
      updates += which == Phase::forward && &kernels == rule;
      Cpu::Queue::run(kernels, which, arguments);
    }
  };
};

TEST(InnerOptimizer, AdvancesOncePerWindow) {  // cases 6 and 10
  const auto rate = schedule::step(1.0, 1, 0.5);
  using Net = Compiled<Mean, Inputs<f32[2], f32>, Counting>;
  Session session(Net{}, Accumulate{Sgd{.learning_rate = rate}}, {.global_batch = 4});
  rule = &gradual::detail::UpdateProgram<Counting, Net::UpdateOf<Sgd>>::kernels();
  boundaries = updates = 0;
  for (int i = 0; i < 12; ++i) {
    const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
    session.accumulate(std::vector<float>(2, 1.0f), std::vector<float>{1});
    EXPECT_EQ(differing_bits(before, session.parameter_bytes()) != 0, i % 4 == 3);
    EXPECT_EQ(boundaries, (i + 1) / 4) << "the rest of backward";
    EXPECT_EQ(updates, (i + 1) / 4) << "the rule";
  }
  EXPECT_EQ(session.step_count(), 3);
  EXPECT_EQ(session.parameters()["p"].values[0], -(1.0f + 0.5f + 0.25f));
}

TEST(Accumulator, HoldsTheCanonicalSumAndBeginsAnewEachWindow) {  // case 11
  const auto x = numbers(600);
  const std::vector<float> w(300, 1.0f);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    Session session(MeanNet{}, descent, {.global_batch = 300, .reduction = reduction});
    session.accumulate(x, w);  // nothing of this window may enter the next
    const float before = session.parameters()["p"].values[0];
    for (std::size_t at = 0; at < 300; at += 60)
      session.accumulate(std::span(x).subspan(at * 2, 120), std::span(w).subspan(at, 60));
    float total = 0;
    for (std::size_t block = 0; block < 300; block += 128) {
      float chain = 0;
      for (std::size_t i = block; i < std::min<std::size_t>(300, block + 128); ++i) chain += x[2 * i];
      total += chain;
    }
    EXPECT_EQ(session.accumulator()[0], total);
    EXPECT_EQ(session.parameters()["p"].values[0], before - (reduction == Reduction::sum ? total : total / 300.0f));
  }
}

}  // namespace accumulation_test
