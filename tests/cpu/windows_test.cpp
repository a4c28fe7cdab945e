// Where windows end: after a number of samples that follows a schedule, or when their weights reach a sum. However the samples
// are given, the bits are those of windows that are ended by hand.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace windows_test {

using namespace models;

constexpr auto optimizer = Accumulate{ClipByGlobalNorm{AdamW{.learning_rate = schedule::cosine(0.01, 40)}, 1.0}};
constexpr std::size_t samples = 700;

/// Samples for a net with weighted losses; many weights are 0.
struct Samples {
  std::vector<float> x = numbers(samples * 4), y = numbers(samples * 3, 2), weight = numbers(samples, 3);
  Samples() {
    for (float& w : weight) w = w < 0 ? 0.0f : 2 * w;
  }
  template <class S>
  int give(S& session, std::size_t first, std::size_t count) const {
    return session.accumulate(std::span(x).subspan(first * 4, count * 4), std::span(y).subspan(first * 3, count * 3),
                              std::span(weight).subspan(first, count));
  }
  /// Gives all of them, in batches of `batch`.
  template <class S>
  void give_all(S& session, std::size_t batch) const {
    for (std::size_t at = 0; at < samples; at += batch) give(session, at, std::min(batch, samples - at));
  }
};
const Samples data;

auto session_of(SessionOptions options) {
  options.seed = 7;
  return Session(WeightedNet{}, optimizer, options);
}

/// Returns the state after windows of these numbers of samples, ended by flush().
Checkpoint ended_by_hand(const std::vector<std::size_t>& windows) {
  auto session = session_of({.global_batch = 4096, .micro_batch = 64});
  std::size_t at = 0;
  for (const std::size_t count : windows) {
    data.give(session, at, count);
    session.flush();
    at += count;
  }
  data.give(session, at, samples - at);
  return session.state();
}

/// Returns whether two states are equal, their tensors bit for bit.
bool equal(const Checkpoint& a, const Checkpoint& b) {
  bool same = a.notes == b.notes && a.tensors.size() == b.tensors.size();
  for (const auto& [name, tensor] : a.tensors)
    same = same && b.tensors.contains(name) &&
           differing_bits(std::as_bytes(std::span(tensor.values)), std::as_bytes(std::span(b.tensor(name).values))) == 0;
  return same;
}

constexpr std::int64_t micro_batches[] = {700, 64, 37, 1};

TEST(Windows, OfCallsAreNoTrainers) {
  EXPECT_EQ(error_of<OptionError>([] { Trainer trainer(WeightedNet{}, Accumulate{Sgd{}, 4}, {.global_batch = 64}); }),
            "Trainer: windows of 4 calls are for sessions; a trainer's are counted in samples");
}

TEST(Windows, CloseTheirLastBlockWhereUnfinishedOnesHaveNoMemory) {
  auto whole = session_of({.global_batch = 100, .micro_batch = 100, .open_blocks = OpenBlocks::as_needed});
  auto parts = session_of({.global_batch = 100, .micro_batch = 37});
  EXPECT_LT(whole.memory().open_blocks, parts.memory().open_blocks);
  data.give_all(whole, 100);
  data.give_all(parts, 100);
  EXPECT_TRUE(equal(whole.state(), parts.state()));
}

TEST(Windows, FollowASchedule) {
  const auto lengths = schedule::function([](std::int64_t step) { return 20.0 + 30.0 * static_cast<double>(step); });
  const Checkpoint expected = ended_by_hand({20, 50, 80, 110, 128, 128, 128});  // 128 is the most; 56 are left
  for (const std::int64_t micro_batch : micro_batches) {
    auto session = session_of(
        {.global_batch = 128, .micro_batch = std::min<std::int64_t>(micro_batch, 128), .window_samples = lengths});
    data.give_all(session, 150);
    EXPECT_EQ(session.step_count(), 7);
    EXPECT_EQ(session.position(), 56);
    EXPECT_TRUE(equal(expected, session.state())) << micro_batch;
  }
}

/// Returns the lengths of windows that end when the weights reach `full`, at most `most` samples.
std::vector<std::size_t> windows_of_weight(double full, std::size_t most) {
  std::vector<std::size_t> windows;
  double sum = 0;
  for (std::size_t i = 0, count = 0; i < samples; ++i) {
    sum += static_cast<double>(data.weight[i]);
    if (++count < most && sum < full) continue;
    windows.push_back(count);
    sum = 0, count = 0;
  }
  return windows;
}

TEST(Windows, EndWithTheSampleThatReachesAWeight) {
  const auto windows = windows_of_weight(30, 4096);
  EXPECT_GT(windows.size(), 8u);
  EXPECT_GT(std::ranges::max(windows), std::ranges::min(windows) + 5);
  const Checkpoint expected = ended_by_hand(windows);
  for (const std::int64_t micro_batch : micro_batches) {
    auto session = session_of({.global_batch = 4096, .micro_batch = micro_batch, .window_weight = 30.0});
    data.give_all(session, 150);
    EXPECT_EQ(session.step_count(), static_cast<std::int64_t>(windows.size()));
    EXPECT_TRUE(equal(expected, session.state())) << micro_batch;
  }
}

TEST(Windows, EndAfterTheMostSamplesWhereTheWeightIsNotReached) {
  const auto windows = windows_of_weight(30, 60);
  EXPECT_EQ(std::ranges::max(windows), 60u);
  EXPECT_LT(std::ranges::min(windows), 60u);
  auto session = session_of({.global_batch = 60, .micro_batch = 25, .window_weight = 30.0});
  data.give_all(session, 700);
  EXPECT_TRUE(equal(ended_by_hand(windows), session.state()));
}

TEST(Windows, OfSeveralStepsInOneCall) {
  auto session = session_of({.global_batch = 700, .window_weight = 10.0});
  EXPECT_EQ(data.give(session, 0, samples), static_cast<int>(windows_of_weight(10, 700).size()));
}

TEST(Windows, EagerOnesEndAtTheSamePlaces) {
  const SessionOptions options{.global_batch = 60, .micro_batch = 45, .seed = 7,
                               .window_samples = schedule::step(30, 3, 2), .window_weight = 28.0};
  auto compiled = session_of(options);
  data.give_all(compiled, samples);
  Parameters parameters(Device::cpu());
  WeightedRegression net(parameters.root());
  Session eager(parameters, optimizer, options);
  eager.accumulate(static_cast<std::int64_t>(samples), [&](EagerTape& tape) {
    return net.loss(tape.input(data.x, {4}), tape.input(data.y, {3}), tape.input(data.weight));
  });
  EXPECT_GT(compiled.step_count(), 12);
  EXPECT_EQ(eager.step_count(), compiled.step_count());
  EXPECT_EQ(eager.position(), compiled.position());
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);
}

TEST(Windows, AreResumedInTheMiddle) {  // case 7
  const SessionOptions options{
      .global_batch = 200, .micro_batch = 40, .window_samples = schedule::step(50, 4, 2), .window_weight = 40.0};
  auto whole = session_of(options);
  data.give_all(whole, 33);
  auto killed = session_of(options);
  for (std::size_t at = 0; at < samples; at += 33) {
    data.give(killed, at, std::min<std::size_t>(33, samples - at));
    auto again = session_of(options);
    again.restore(killed.state());
    killed = std::move(again);
  }
  EXPECT_TRUE(equal(whole.state(), killed.state()));
}

TEST(Windows, OfAnotherLengthRefuseAStateThatFillsThem) {
  auto session = session_of({.global_batch = 200});
  data.give(session, 0, 100);
  const auto restored = [&](SessionOptions options) {
    return error_of<OptionError>([&] {
      auto other = session_of(options);
      other.restore(session.state());
    });
  };
  EXPECT_EQ(restored({.global_batch = 200, .window_samples = 101.0}), "accepted");
  EXPECT_EQ(restored({.global_batch = 200, .window_samples = 100.0}),
            "the state holds 100 samples of 0 calls of a window; this session's windows are of 100 samples");
  EXPECT_EQ(restored({.global_batch = 200, .window_weight = 1000.0}), "accepted");
  EXPECT_EQ(restored({.global_batch = 200, .window_weight = 5.0}).substr(0, 107),
            "the state holds 100 samples of 0 calls of a window; this session's windows are of weight 5, the state's is ");
}

TEST(Windows, ThatCannotBeAreRefused) {
  const auto made = [](SessionOptions options) { return error_of<OptionError>([&] { session_of(options); }); };
  EXPECT_EQ(made({.global_batch = 64, .window_samples = 65.0}),
            "Session: a first window of 65 samples, which must be from 0 to global_batch, 64");
  EXPECT_EQ(made({.global_batch = 64, .window_weight = -1.0}), "Session: a first window of weight -1");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(made({.global_batch = 64, .window_weight = nan}), "Session: a first window of weight nan");
  const double changing = 8;
  for (const SessionOptions& by : {SessionOptions{.global_batch = 64, .window_samples = schedule::variable(changing)},
                                   SessionOptions{.global_batch = 64, .window_weight = schedule::variable(changing)}})
    EXPECT_EQ(made(by), "Session: .window_samples and .window_weight take a number or a schedule, not a variable");
  EXPECT_EQ(error_of<OptionError>([] {
              Session(WeightedNet{}, Accumulate{Sgd{}, 3}, {.micro_batch = 8, .window_weight = 1.0});
            }),
            "Session: windows of calls take no .window_samples and no .window_weight");
}

TEST(Windows, OfALaterWeightThatCannotBeAreRefused) {
  const auto second = [](std::int64_t step) { return step == 1 ? -1.0 : 10.0; };
  auto session = session_of({.global_batch = 700, .window_weight = schedule::function(second)});
  EXPECT_EQ(error_of<OptionError>([&] { data.give(session, 0, samples); }), "step 2: a window of weight -1");
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(session.position(), 0);
}

TEST(Windows, OfASchedulesZeroAreRefused) {  // 0 as an option means none
  const auto falls = schedule::polynomial(8, 4, 1.0);
  auto samples_fall = session_of({.global_batch = 100, .window_samples = falls});
  EXPECT_EQ(error_of<OptionError>([&] { data.give(samples_fall, 0, samples); }), "step 5: a window of 0 samples");
  EXPECT_EQ(samples_fall.step_count(), 4);
  auto weight_falls = session_of({.global_batch = 100, .window_weight = falls});
  EXPECT_EQ(error_of<OptionError>([&] { data.give(weight_falls, 0, samples); }), "step 5: a window of weight 0");
}

TEST(Windows, ThatAreClosedTakeNoMore) {
  const auto x = numbers(8 * 9);
  const auto y = labels(8, 5);
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, {.global_batch = 64});
  session.accumulate(x, y);
  session.close_blocks();
  EXPECT_EQ(error_of<OptionError>([&] { session.accumulate(x, y); }),
            "accumulate: the window's blocks are closed: flush it or discard it");
  EXPECT_EQ(session.position(), 8);
  EXPECT_EQ(session.flush(), 1);
  EXPECT_EQ(session.accumulate(x, y), 0);
}

/// A model whose penalty is known only once the window has ended.
struct Penalised {
  Parameter weight;
  constexpr explicit Penalised(Scope s) : weight(s.parameter("weight", Shape{4}, init::normal(1))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(x * weight, {1})).plus(sum(abs(weight.on(x)), {0})); }
};

TEST(Windows, GiveNoGradientThatIsNotCompleteYet) {
  Session session(Compiled<Penalised, Inputs<f32[4]>>{}, Accumulate{Sgd{}}, {.global_batch = 8});
  const auto x = numbers(8 * 4);
  session.accumulate(std::span(x).first(4));
  EXPECT_EQ(error_of<OptionError>([&] { session.accumulator(); }),
            "accumulator: the gradient of 'weight' is not one sum over samples: it is known only once the window has ended");
  session.accumulate(std::span(x).last(28));
  EXPECT_EQ(session.accumulator().size(), 4u);
}

TEST(Windows, OfSumsMayHaveWeightsOfAnySign) {
  const auto x = numbers(8 * 4), y = numbers(8 * 3, 2);
  const auto stepped = [&](std::vector<float> weights) {
    Session session(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .reduction = Reduction::sum});
    const std::vector<float> before(session.parameters().values().begin(), session.parameters().values().end());
    EXPECT_EQ(session.accumulate(x, y, weights), 1);
    EXPECT_NO_THROW(session.evaluate(x, y, weights));
    Parameters parameters(Device::cpu());
    const WeightedRegression net(parameters.root());
    Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .reduction = Reduction::sum});
    EXPECT_EQ(eager.accumulate(
                  8, [&](EagerTape& tape) { return net.loss(tape.input(x, {4}), tape.input(y, {3}), tape.input(weights)); }),
              1);
    const std::vector<float> after(session.parameters().values().begin(), session.parameters().values().end());
    EXPECT_EQ(after, std::vector<float>(parameters.values().begin(), parameters.values().end()));
    return after != before;
  };
  EXPECT_TRUE(stepped({1, -1, 1, -1, 1, -1, 1, -1}));
  EXPECT_TRUE(stepped({-2, -2, -2, -2, -2, -2, -2, -2}));
  EXPECT_FALSE(stepped(std::vector<float>(8, 0))) << "a step by a gradient of 0";
}

TEST(Windows, OfSumsTellMeans) {
  const auto x = numbers(8 * 4), y = numbers(8 * 3, 2), weights = std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4};
  const auto told = [&](Reduction reduction) {
    Session session(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8, .reduction = reduction});
    const double before = session.evaluate(x, y, weights).loss();
    session.accumulate(x, y, weights);
    EXPECT_EQ(session.last_window().loss(), before);
    return before;
  };
  EXPECT_EQ(told(Reduction::sum), told(Reduction::mean));
}

TEST(Windows, OfAWeightThatNothingCanBeDividedByAreForgotten) {
  const auto x = numbers(8 * 4), y = numbers(8 * 3, 2);
  const std::vector<float> ones(8, 1), negative(8, -1);
  Session session(WeightedNet{}, Accumulate{Sgd{}}, {.global_batch = 8});
  EXPECT_EQ(error_of<DataError>([&] { session.accumulate(x, y, negative); }),
            "weight 0 of a window is -1: a mean takes none below 0; multiply the loss by such factors, or use "
            "Reduction::sum");
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(error_of<DataError>([&] { session.evaluate(x, y, negative); }).substr(0, 36),
            "weight 0 of what was evaluated is -1");
  const std::vector<float> zeros(8, 0);
  EXPECT_EQ(session.evaluate(x, y, zeros).weight(), 0);
  EXPECT_EQ(session.accumulate(x, y, ones), 1);
  Parameters parameters(Device::cpu());
  const WeightedRegression net(parameters.root());
  Session eager(parameters, Accumulate{Sgd{}}, {.global_batch = 8});
  const auto give = [&](std::span<const float> weights) {
    return eager.accumulate(
        8, [&](EagerTape& tape) { return net.loss(tape.input(x, {4}), tape.input(y, {3}), tape.input(weights)); });
  };
  EXPECT_THROW(give(negative), DataError);
  EXPECT_THROW(eager.evaluate(8, [&](EagerTape& tape) {
    return net.loss(tape.input(x, {4}), tape.input(y, {3}), tape.input(negative));
  }), DataError);
  EXPECT_EQ(give(ones), 1);
  EXPECT_EQ(differing_bits(std::as_bytes(session.parameters().values()), std::as_bytes(std::as_const(parameters).values())), 0);
}

}  // namespace windows_test
