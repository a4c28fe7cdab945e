// The noise of gradients, measured between the small batches of a window: its formula, that it does not depend on the split
// of the window, and that measuring it changes no bit of training.
#include <gtest/gtest.h>

#include "../count_allocations.hpp"
#include "../models.hpp"

namespace gradient_noise_test {

using namespace models;

/// The gradient of a sample is the sample, in two parameters.
struct Line {
  Parameter first, frozen, second;
  constexpr explicit Line(Scope s)
      : first(s.parameter("first", Shape{1}, init::constant(0.5))), frozen(s.parameter("frozen", Shape{1}, init::constant(1))),
        second(s.parameter("second", Shape{1}, init::constant(0.5))) {}
  constexpr Loss loss(Var x, Var samples) const {
    const Var line = slice(x, 1, 0, 1) * first + slice(x, 1, 1, 1) * second;
    return Loss(sum(line, {-1}) + 100.0 * sum(frozen.on(x), {-1})).weighted_by(samples);
  }
};
using LineNet = Compiled<Line, Inputs<f32[2], f32>>;
constexpr Sgd descent{.learning_rate = 0.0f};

auto session_of(SessionOptions options, LossScaling scaling = {1, 0}) {
  options.freeze = {"frozen"};
  return Session(LineNet{}, Accumulate{LossScale{descent, scaling}}, options);
}

TEST(GradientNoise, OfSingleSamplesIsTheirVarianceAndMean) {
  const std::vector<float> x = {1, 2, 3, 2, 5, 2, 7, 2}, ones(4, 1.0f);  // means 4, 2; variances 20/3, 0
  for (const LossScaling scaling : {LossScaling{1, 0}, LossScaling{1024, 0}}) {
    auto session = session_of({.global_batch = 4, .noise_batch = 1}, scaling);
    session.accumulate(x, ones);
    const GradientNoise& noise = session.gradient_noise();
    EXPECT_EQ(noise.windows, 1);
    EXPECT_DOUBLE_EQ(noise.variance, 20.0 / 3);
    EXPECT_DOUBLE_EQ(noise.gradient_squared, 16 + 4 - 20.0 / 3 / 4);
    EXPECT_DOUBLE_EQ(noise.scale(), noise.variance / noise.gradient_squared);
  }
}

TEST(GradientNoise, CountsASampleOfWeightThreeAsThree) {
  auto each = session_of({.global_batch = 8, .noise_batch = 3}), weighted = session_of({.global_batch = 4, .noise_batch = 1});
  const std::vector<float> eight = {1, 2, 1, 2, 1, 2, 3, 1, 3, 1, 3, 1, 5, 0, 5, 0};
  each.accumulate(eight, std::vector<float>(8, 1.0f));  // the last batch has two
  weighted.accumulate(std::vector<float>{1, 2, 3, 1, 5, 0, 9, 9}, std::vector<float>{3, 3, 2, 0});
  EXPECT_DOUBLE_EQ(each.gradient_noise().variance, weighted.gradient_noise().variance);
  EXPECT_DOUBLE_EQ(each.gradient_noise().gradient_squared, weighted.gradient_noise().gradient_squared);
  GradientNoise both = each.gradient_noise();
  both += weighted.gradient_noise();
  EXPECT_EQ(both.windows, 2);
  EXPECT_DOUBLE_EQ(both.scale(), each.gradient_noise().scale());
}

TEST(GradientNoise, IsNotThereWhereNothingCouldBeMeasured) {
  const std::vector<float> x = {1, 2, 3, 2, 5, 2, 7, 2}, ones(4, 1.0f), huge(8, 3e38f);
  auto session = session_of({.global_batch = 4, .noise_batch = 2});
  EXPECT_EQ(session.gradient_noise().windows, 0);
  session.accumulate(std::span(x).first(4), std::span(ones).first(2));
  auto resumed = session_of({.global_batch = 4, .noise_batch = 2});
  resumed.restore(session.state());
  resumed.accumulate(std::span(x).last(4), std::span(ones).last(2));
  EXPECT_EQ(resumed.gradient_noise().windows, 0);  // its first batch was measured elsewhere
  resumed.accumulate(x, ones);
  EXPECT_EQ(resumed.gradient_noise().windows, 1);
  EXPECT_EQ(session.flush(), 1);
  EXPECT_EQ(session.gradient_noise().windows, 0);  // only one batch
  session.accumulate(x, ones);
  EXPECT_EQ(session.gradient_noise().windows, 1);
  session.accumulate(huge, ones);
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(session.gradient_noise().windows, 0);
}

/// Weights whose part of backward runs at the window's end, and products with blocks of 128 samples.
struct Noise : testing::Test {
  static constexpr std::int64_t window = 300;
  const std::vector<float> x = numbers(2 * window * 4), y = numbers(2 * window * 4, 2);

  auto session(std::int64_t noise_batch, std::int64_t micro_batch = 300, std::int64_t samples = window) const {
    return Session(TiedNet{}, Accumulate{Sgd{.learning_rate = 1.0f}},
                   {.global_batch = samples, .micro_batch = micro_batch, .seed = 4, .noise_batch = noise_batch});
  }
  template <class S>
  void give(S& s, std::int64_t first, std::int64_t count) const {
    const auto from = static_cast<std::size_t>(first * 4), values = static_cast<std::size_t>(count * 4);
    s.accumulate(std::span(x).subspan(from, values), std::span(y).subspan(from, values));
  }
  /// Returns |mean gradient|² of some samples, from a step of learning rate 1.
  double squared(std::int64_t first, std::int64_t count) const {
    auto s = session(0, count, count);
    const std::vector<float> before(s.parameters().values().begin(), s.parameters().values().end());
    give(s, first, count);
    double sum = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double step = static_cast<double>(before[i]) - static_cast<double>(s.parameters().values()[i]);
      sum += step * step;
    }
    return sum;
  }
};

TEST_F(Noise, IsThatOfTheSmallBatchesGradients) {
  for (const std::int64_t batch : {50, 150}) {  // the paper's formula, appendix A.1
    auto s = session(batch);
    give(s, 0, window);
    double small = 0;
    const double b = static_cast<double>(batch), all = static_cast<double>(window), big = squared(0, window);
    for (std::int64_t at = 0; at < window; at += batch) small += squared(at, batch) * b / all;
    const double gradient = (all * big - b * small) / (all - b), variance = (small - big) / (1 / b - 1 / all);
    EXPECT_NEAR(s.gradient_noise().gradient_squared, gradient, 1e-4 * gradient);
    EXPECT_NEAR(s.gradient_noise().variance, variance, 1e-4 * variance);
  }
}

TEST_F(Noise, IsTheSameHoweverTheWindowIsCutAndDisturbsNothing) {
  auto plain = session(0);
  give(plain, 0, window);
  give(plain, window, window);
  for (const std::int64_t batch : {20, 128, 299}) {
    auto whole = session(batch), parts = session(batch, 7);
    for (auto* s : {&whole, &parts}) {
      give(*s, 0, window);
      give(*s, window, window);
      EXPECT_EQ(differing_bits(s->parameter_bytes(), plain.parameter_bytes()), 0) << batch;
    }
    EXPECT_EQ(whole.gradient_noise().windows, 1);
    EXPECT_EQ(whole.gradient_noise().variance, parts.gradient_noise().variance);
    EXPECT_EQ(whole.gradient_noise().gradient_squared, parts.gradient_noise().gradient_squared);
  }
}

TEST_F(Noise, ItsMemoryIsPlanned) {
  for (const std::int64_t batch : {128, 50}) {
    const auto s = session(batch);
    EXPECT_EQ(s.memory().noise, s.memory().parameters);
    EXPECT_EQ(s.memory().undo > 0, batch == 50);  // blocks are open where noise is measured
    EXPECT_EQ(s.allocated_bytes(), s.memory().total());
    const Planning planning{.open_blocks = OpenBlocks::always, .extras = {.noise_batch = batch}};
    EXPECT_EQ(s.memory().total(), TiedNet::training_memory(Accumulate{Sgd{}}, 300, planning).total());
  }
  Session unaligned(TiedNet{}, Accumulate{Sgd{.learning_rate = 1.0f}},
                    {.global_batch = 256, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed, .noise_batch = 50});
  give(unaligned, 0, 256);
  EXPECT_EQ(unaligned.gradient_noise().windows, 1);
}

TEST_F(Noise, NeedsTwoBatchesInAWindow) {
  EXPECT_THROW(session(300), OptionError);
  EXPECT_THROW(session(-1), OptionError);
  Parameters parameters(Device::cpu());
  EXPECT_THROW(Session(parameters, Accumulate{Sgd{}}, {.global_batch = 8, .noise_batch = 8}), OptionError);
}

/// Two windows of an eager session.
struct EagerNoise : Noise {
  using Bytes = std::vector<std::byte>;
  GradientNoise noise;  ///< of the second window
  bool failed = false;  ///< an allocation

  /// `later`: the allocation of the second window that fails, once.
  Bytes trained(std::int64_t noise_batch, std::int64_t micro_batch, std::int64_t later = none) {
    Parameters parameters(Device::cpu());
    const Tied net(parameters.root());
    Session s(parameters, Accumulate{Sgd{.learning_rate = 1.0f}},
              {.global_batch = window, .micro_batch = micro_batch, .seed = 4, .noise_batch = noise_batch});
    for (const std::int64_t first : {std::int64_t{0}, window}) {
      const auto part = [&](const std::vector<float>& all) {
        return std::span(all).subspan(static_cast<std::size_t>(first * 4), static_cast<std::size_t>(window * 4));
      };
      parameters.device().trim();
      failing_allocation = first > 0 && later != none ? allocations + later : none;
      try {
        s.accumulate(window, [&](EagerTape& tape) { return net.loss(tape.input(part(x), {4}), tape.input(part(y), {4})); });
      } catch (const MemoryError&) {
        s.flush();
      }
    }
    failed = allocations > failing_allocation;
    failing_allocation = none;
    noise = s.gradient_noise();
    return {s.parameter_bytes().begin(), s.parameter_bytes().end()};
  }
};

TEST_F(EagerNoise, IsThatOfACompiledSessionAndDisturbsNothing) {
  const Bytes plain = trained(0, window);
  EXPECT_EQ(noise.windows, 0);
  for (const std::int64_t batch : {20, 128, 299}) {
    auto compiled = session(batch);
    give(compiled, 0, window);
    give(compiled, window, window);
    for (const std::int64_t micro_batch : {window, std::int64_t{7}}) {
      EXPECT_EQ(differing_bits(trained(batch, micro_batch), plain), 0) << batch;
      EXPECT_EQ(noise.windows, 1);
      EXPECT_EQ(noise.variance, compiled.gradient_noise().variance);
      EXPECT_EQ(noise.gradient_squared, compiled.gradient_noise().gradient_squared);
    }
  }
}

TEST_F(EagerNoise, IsNotMeasuredWhereThereIsNoMemoryForThat) {
  const Bytes plain = trained(150, window);
  const double variance = noise.variance;
  int unmeasured = 0;
  failed = true;
  for (std::int64_t later = 0; failed; ++later) {
    EXPECT_EQ(differing_bits(trained(150, window, later), plain), 0) << "allocation " << later;
    unmeasured += noise.windows == 0;
    EXPECT_EQ(noise.variance, noise.windows == 0 ? 0 : variance) << "allocation " << later;
  }
  EXPECT_GT(unmeasured, 0);
}

TEST(GradientNoise, OfAnEagerSessionIsThatOfAStepThatIsMadeAgain) {
  const std::vector<float> x = {1, 2, 3, 2, 5, 2, 7, 2}, ones(4, 1.0f);
  const auto measured = [&](bool fails) {
    Parameters parameters(Device::cpu());
    const Line net(parameters.root());
    double rate = 0.1;
    Session s(parameters, Accumulate{Sgd{.learning_rate = schedule::variable(rate)}}, {.global_batch = 4, .noise_batch = 1});
    const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {2}), tape.input(ones)); };
    if (fails) rate = std::numeric_limits<double>::quiet_NaN();
    if (fails) EXPECT_THROW(s.accumulate(4, record), OptionError);
    else s.accumulate(4, record);
    rate = 0.1;
    s.flush();
    EXPECT_EQ(s.step_count(), 1);
    EXPECT_EQ(s.gradient_noise().windows, 1);
    return s.gradient_noise().variance;
  };
  EXPECT_GT(measured(false), 0);
  EXPECT_EQ(measured(true), measured(false));
}

TEST(GradientNoise, OfAnEagerSessionIsOfTrueGradientsThatAreNotFrozen) {
  const std::vector<float> x = {1, 2, 3, 2, 5, 2, 7, 2}, ones(4, 1.0f);  // as above
  for (const LossScaling scaling : {LossScaling{1, 0}, LossScaling{1024, 0}}) {
    Parameters parameters(Device::cpu());
    const Line net(parameters.root());
    const auto make = [&] {
      return Session(parameters, Accumulate{LossScale{descent, scaling}},
                     {.global_batch = 4, .freeze = {"frozen"}, .noise_batch = 1});
    };
    const auto give = [&](auto& session, std::size_t first, std::size_t count) {
      session.accumulate(static_cast<std::int64_t>(count), [&](EagerTape& tape) {
        return net.loss(tape.input(std::span(x).subspan(2 * first, 2 * count), {2}),
                        tape.input(std::span(ones).first(count)));
      });
    };
    auto session = make(), resumed = make();
    give(session, 0, 4);
    EXPECT_DOUBLE_EQ(session.gradient_noise().variance, 20.0 / 3);
    EXPECT_DOUBLE_EQ(session.gradient_noise().gradient_squared, 16 + 4 - 20.0 / 3 / 4);
    give(session, 0, 2);
    resumed.restore(session.state());
    give(resumed, 2, 2);
    EXPECT_EQ(resumed.step_count(), 2);
    EXPECT_EQ(resumed.gradient_noise().windows, 0);
  }
}

}  // namespace gradient_noise_test
