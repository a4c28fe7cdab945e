// Case 33 as far as float goes, and that scaling a loss by powers of two changes no bit.
#include <gtest/gtest.h>

#include "../models.hpp"

namespace loss_scale_test {

using namespace models;

/// The gradient is the input, plus that of a penalty.
struct Line {
  Parameter weight;
  constexpr explicit Line(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x);
    return Loss(sum(x * w, {-1})).plus(0.25 * sum(w * w, {0}));
  }
};
using Net = Compiled<Line, Inputs<f32[2]>>;
constexpr Sgd momentum{.learning_rate = 1e-4f, .momentum = 0.9f};

template <class S>
std::vector<std::byte> state_of(const S& session) {
  const auto parameters = session.parameter_bytes(), state = session.optimizer_state_bytes();
  std::vector<std::byte> all(parameters.begin(), parameters.end());
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

auto session_of(SessionOptions options = {.global_batch = 2}, LossScaling scaling = {}) {
  return Session(Net{}, Accumulate{LossScale{momentum, scaling}}, options);
}
const std::vector<float> clean = {0.25f, -1.5f, 3, 0.125f}, huge = {1, 1, 1e34f, 1};  // 65536 · 1e34 is beyond float

TEST(LossScale, AnOverflowHalvesItAndChangesNothingElse) {  // case 33
  auto session = session_of();
  EXPECT_EQ(session.accumulate(clean), 1);
  const auto before = state_of(session);
  EXPECT_EQ(session.loss_scale(), 65536);
  EXPECT_EQ(session.accumulate(huge), 0);
  EXPECT_EQ(session.loss_scale(), 32768);
  EXPECT_EQ(differing_bits(before, state_of(session)), 0);
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(session.accumulate(huge), 1);  // 32768 · 1e34 is not
  EXPECT_EQ(session.allocated_bytes(),
            Net::training_memory(Accumulate{LossScale{momentum}}, 2, {.open_blocks = OpenBlocks::always}).total());
}

TEST(LossScale, IsDoubledAfter2000CleanWindowsAndSaved) {
  auto first = session_of({.global_batch = 2});
  first.accumulate(clean);
  first.accumulate(huge);
  for (int step = 0; step < 1999; ++step) first.accumulate(clean);
  first.accumulate(std::span(clean).first(2));  // inside the last window at this scale
  EXPECT_EQ(first.loss_scale(), 32768);
  auto second = session_of({.global_batch = 2}, {.start = 8});
  second.restore(first.state());
  for (auto* session : {&first, &second}) {
    session->accumulate(std::span(clean).last(2));
    EXPECT_EQ(session->step_count(), 2001);
    EXPECT_EQ(session->loss_scale(), 65536);
  }
  EXPECT_EQ(differing_bits(state_of(first), state_of(second)), 0);
}

TEST(LossScale, ChangesNoBit) {
  Session plain(Net{}, Accumulate{momentum}, {.global_batch = 2});
  for (int step = 0; step < 20; ++step) plain.accumulate(clean);
  for (const LossScaling scaling : {LossScaling{}, LossScaling{1024, 0}, LossScaling{0x1p60, 3}}) {
    auto scaled = session_of({.global_batch = 2, .micro_batch = 1}, scaling);
    for (int step = 0; step < 20; ++step) scaled.accumulate(clean);
    EXPECT_EQ(differing_bits(state_of(plain), state_of(scaled)), 0) << scaling.start;
    EXPECT_EQ(scaled.loss_scale(), scaling.double_after == 3 ? 0x1p66 : scaling.start);
    const float gradient[] = {0.5f, 2};
    scaled.apply(gradient, 1);  // a gradient that was never scaled
    auto other = session_of({.global_batch = 2});
    for (int step = 0; step < 20; ++step) other.accumulate(clean);
    other.apply(gradient, 1);
    EXPECT_EQ(differing_bits(state_of(other), state_of(scaled)), 0);
  }
}

TEST(LossScale, ChangesNoBitOfProductsAndWeights) {
  const auto x = numbers(64 * 4), y = numbers(64 * 3, 2);
  auto weight = numbers(64, 5);
  for (float& w : weight) w = w * w;
  const auto trained = [&](const auto& rule, std::int64_t micro_batch) {
    Session session(WeightedNet{}, Accumulate{rule}, {.global_batch = 64, .micro_batch = micro_batch, .seed = 2});
    for (int step = 0; step < 10; ++step) session.accumulate(x, y, weight);
    return state_of(session);
  };
  EXPECT_EQ(differing_bits(trained(momentum, 64), trained(LossScale{momentum}, 7)), 0);
}

TEST(LossScale, HoldsForEagerSessions) {
  Parameters parameters(Device::cpu());
  Line line(parameters.root());
  auto compiled = session_of();
  Session eager(parameters, Accumulate{LossScale{momentum}}, {.global_batch = 2, .micro_batch = 1});
  for (const auto* data : {&clean, &huge, &clean, &clean}) {
    compiled.accumulate(*data);
    eager.accumulate(2, [&](EagerTape& tape) { return line.loss(tape.input(*data, {2})); });
  }
  EXPECT_EQ(eager.loss_scale(), 32768);
  EXPECT_EQ(eager.step_count(), 3);
  EXPECT_TRUE(std::ranges::equal(compiled.parameters().values(), parameters.values()));
  compiled.restore(eager.state());
  EXPECT_EQ(compiled.loss_scale(), 32768);
}

TEST(LossScale, ADroppedMicroBatchHalvesItForTheNextWindow) {
  auto session = session_of({.global_batch = 2, .micro_batch = 1, .non_finite = NonFinite::drop_micro_batch});
  session.accumulate(std::span(huge).last(2));
  EXPECT_EQ(session.dropped_micro_batches(), 1);
  EXPECT_EQ(session.loss_scale(), 65536);
  EXPECT_EQ(session.accumulate(std::span(clean).last(2)), 1);
  EXPECT_EQ(session.loss_scale(), 32768);
}

TEST(LossScale, IsThatOfTheFileUntilAWindowThatItBeganEnds) {
  const auto finished = [](LossScaling begun, LossScaling goes_on) {
    auto first = session_of({.global_batch = 2}, begun), second = session_of({.global_batch = 2}, goes_on);
    first.accumulate(std::span(clean).first(2));
    second.restore(first.state());
    EXPECT_EQ(second.loss_scale(), begun.start);
    EXPECT_EQ(second.accumulate(std::span(clean).last(2)), 1);
    EXPECT_EQ(second.loss_scale(), goes_on.start);
    return state_of(second);
  };
  const auto expected = finished({1024, 0}, {1024, 0});
  EXPECT_EQ(differing_bits(expected, finished({65536, 2000}, {1024, 0})), 0);
  EXPECT_EQ(differing_bits(expected, finished({1, 0}, {4, 0})), 0);

  auto first_part = session_of(), forgets = session_of({.global_batch = 2}, {4, 0});
  first_part.accumulate(std::span(clean).first(2));
  forgets.restore(first_part.state());
  forgets.discard();
  EXPECT_EQ(forgets.loss_scale(), 4);
  forgets.restore(first_part.state());
  forgets.restore(session_of().state());
  EXPECT_EQ(forgets.loss_scale(), 4);

  Parameters parameters(Device::cpu());
  Line line(parameters.root());
  const Accumulate optimizer{LossScale{momentum, {4, 0}}};
  Session first(parameters, Accumulate{LossScale{momentum, {1024, 0}}}, {.global_batch = 2});
  const auto give = [&](auto& session, std::size_t sample) {
    session.accumulate(1, [&](EagerTape& tape) { return line.loss(tape.input(std::span(clean).subspan(sample * 2, 2), {2})); });
  };
  give(first, 0);
  Session second(parameters, optimizer, {.global_batch = 2});
  give(second, 0);
  second.restore(first.state());
  EXPECT_EQ(second.loss_scale(), 1024);
  second.discard();
  EXPECT_EQ(second.loss_scale(), 4);
  second.restore(first.state());
  give(second, 1);
  EXPECT_EQ(second.loss_scale(), 4);
  auto compiled = session_of({.global_batch = 2}, {1, 0});
  compiled.accumulate(clean);
  EXPECT_TRUE(std::ranges::equal(compiled.parameters().values(), parameters.values()));
}

TEST(LossScale, IsNotSquaredByWhatMeasuresTheGradient) {
  const auto trained = [](auto optimizer) {
    Session session(Net{}, Accumulate{optimizer}, {.global_batch = 2});
    for (int evaluation = 0; evaluation < 4; ++evaluation) session.accumulate(clean);
    EXPECT_EQ(session.step_count(), 2);
    return state_of(session);
  };
  EXPECT_EQ(differing_bits(trained(Sam{momentum}), trained(Sam{LossScale{momentum, {0x1p80, 0}}})), 0);
}

TEST(LossScale, CountsWindowsOfWhichAStepIsMade) {
  Session session(Net{}, Accumulate{Sam{LossScale{momentum, {2, 1}}}}, {.global_batch = 2});
  session.accumulate(clean);
  EXPECT_EQ(session.loss_scale(), 2) << "which the second evaluation has too";
  session.accumulate(clean);
  EXPECT_EQ(session.loss_scale(), 4);
}

TEST(LossScale, NeverFallsBelowOneAndRefusesOtherNumbers) {
  auto session = session_of({.global_batch = 2}, {.start = 2});
  const std::vector<float> infinite = {3e38f, 1, 3e38f, 1};
  for (int window = 0; window < 3; ++window) session.accumulate(infinite);
  EXPECT_EQ(session.loss_scale(), 1);
  for (const double start : {0.5, 0.0, -2.0, 3.0, 0x1p101, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(session_of({.global_batch = 2}, {.start = start}), OptionError) << start;
  EXPECT_THROW(session_of({.global_batch = 2}, {.double_after = -1}), OptionError);
  Checkpoint state = session.state();
  for (const char* saved : {"3", "0", "-2", "nan"}) {
    state.notes["loss scale"] = saved;
    EXPECT_THROW(session.restore(state), FileError) << saved;
  }
  state.notes["loss scale"] = "4";
  session.restore(state);
  EXPECT_EQ(session.loss_scale(), 4);
}

TEST(LossScale, WhatStandsInsideSeesTheTrueGradientWhatStandsOutsideTheScaledOne) {
  const auto trained = [](const auto& rule) {
    Session session(Net{}, Accumulate{rule}, {.global_batch = 2});
    for (int step = 0; step < 5; ++step) session.accumulate(clean);
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  const auto clipped = trained(ClipByGlobalNorm{momentum, 0.5});
  EXPECT_EQ(differing_bits(clipped, trained(LossScale{ClipByGlobalNorm{momentum, 0.5}})), 0);
  EXPECT_EQ(differing_bits(clipped, trained(ClipByGlobalNorm{LossScale{momentum}, 0.5 * 65536})), 0);
}

}  // namespace loss_scale_test
