// Case 4: a window whose gradient is infinite or not a number changes nothing, and leaves nothing behind.
#include <gtest/gtest.h>

#include <cmath>

#include "../error_of.hpp"
#include "../models.hpp"

namespace non_finite_test {

using namespace models;

/// √(w·x) with a positive weight: an input below zero gives NaN, an input of zero a finite loss with a gradient that is not.
struct Root {
  Parameter weight, bias;
  constexpr explicit Root(Scope s)
      : weight(s.parameter("weight", Shape{2}, init::constant(0.5))), bias(s.parameter("bias", Shape{2}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(sqrt(x * weight) + bias, {-1})); }
};
using Net = Compiled<Root, Inputs<f32[2]>>;
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{AdamW{.learning_rate = schedule::cosine(0.01, 20)}, 1.0}};

std::vector<float> samples() {
  auto x = numbers(8 * 3 * 2);
  for (float& v : x) v = v * v + 0.1f;
  return x;
}

auto session_of(NonFinite policy) {
  return Session(Net{}, optimizer, {.global_batch = 8, .micro_batch = 2, .seed = 1, .non_finite = policy});
}

auto dropping_session(std::int64_t micro_batch = 2) {
  return Session(Net{}, optimizer,
                 {.global_batch = 8, .micro_batch = micro_batch, .seed = 1, .non_finite = NonFinite::drop_micro_batch});
}

/// Returns everything that training changes.
template <class S>
std::vector<std::byte> state_of(const S& session) {
  const auto parameters = session.parameter_bytes(), state = session.optimizer_state_bytes();
  std::vector<std::byte> all(parameters.begin(), parameters.end());
  all.insert(all.end(), state.begin(), state.end());
  return all;
}

TEST(NonFinite, ADroppedWindowIsAsIfItHadNeverBeen) {
  const auto clean = samples();
  auto dirty = clean;
  for (const float bad : {-1.0f, 0.0f}) {  // NaN; only the gradient is not finite
    dirty[8 * 2 + 5] = bad;                // in the second window
    auto with = session_of(NonFinite::drop_window), without = session_of(NonFinite::drop_window);
    with.accumulate(dirty);
    EXPECT_EQ(with.dropped_windows(), 1);
    EXPECT_EQ(with.step_count(), 2);
    without.accumulate(std::span(clean).first(16));
    without.accumulate(std::span(clean).last(16));
    EXPECT_EQ(without.step_count(), 2);
    EXPECT_EQ(differing_bits(state_of(with), state_of(without)), 0) << bad;
  }
}

TEST(NonFinite, IsRaisedWithTheParametersName) {
  auto dirty = samples();
  dirty[8 * 2 + 5] = 0;
  auto session = session_of(NonFinite::raise);
  session.accumulate(std::span(dirty).first(16));
  const auto before = state_of(session);
  try {
    session.accumulate(std::span(dirty).subspan(16, 16));
    FAIL() << "nothing was thrown";
  } catch (const NonFiniteError& error) {
    EXPECT_STREQ(error.what(), "step 2: the gradient of 'weight' is not finite; the window is dropped, nothing is changed");
  }
  EXPECT_EQ(differing_bits(before, state_of(session)), 0);
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(session.accumulate(std::span(dirty).last(16)), 1);
}

TEST(NonFinite, IsRaisedWithTheNameOfAParameterThatIsNot) {
  const auto clean = samples();
  const char* const text = "step 1: parameter 'weight' is not finite; the window is dropped, nothing is changed";
  auto session = session_of(NonFinite::raise);
  session.parameters()["weight"].values[0] = INFINITY;
  EXPECT_EQ(error_of<NonFiniteError>([&] { session.accumulate(clean); }), text);
  Parameters parameters(Device::cpu());
  Root net(parameters.root());
  Session eager(parameters, optimizer, {.global_batch = 8, .seed = 1, .non_finite = NonFinite::raise});
  const std::vector<float> lost(parameters.values().size(), NAN);
  eager.set_parameters(lost);
  EXPECT_EQ(error_of<NonFiniteError>([&] {
              eager.accumulate(24, [&](EagerTape& tape) { return net.loss(tape.input(clean, {2})); });
            }),
            text);
}

TEST(NonFinite, EagerSessionsDropWindowsToo) {
  const auto clean = samples();
  auto dirty = clean;
  dirty[8 * 2 + 5] = -1;
  auto compiled = session_of(NonFinite::drop_window);
  compiled.accumulate(dirty);
  Parameters parameters(Device::cpu());
  Root net(parameters.root());
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(dirty, {2})); };
  Session eager(parameters, optimizer, {.global_batch = 8, .micro_batch = 2, .seed = 1});
  EXPECT_EQ(eager.accumulate(24, record), 2);
  EXPECT_EQ(eager.dropped_windows(), 1);
  const auto expected = compiled.parameters().values();
  EXPECT_EQ(differing_bits(std::as_bytes(std::span<const float>(expected)), eager.parameter_bytes()), 0);

  Parameters thirds(Device::cpu());
  Root third(thirds.root());
  auto with = dropping_session();
  Session dropping(thirds, optimizer,
                   {.global_batch = 8, .micro_batch = 2, .seed = 1, .non_finite = NonFinite::drop_micro_batch});
  for (const int bad : {16, 16 + 6, 16 + 12}) {  // in the first, the second and the last part of the second window
    dirty = clean;
    dirty[static_cast<std::size_t>(bad)] = bad == 22 ? 0.0f : -1.0f;
    const auto record_third = [&](EagerTape& tape) { return third.loss(tape.input(dirty, {2})); };
    EXPECT_EQ(dropping.accumulate(24, record_third), with.accumulate(dirty));
    EXPECT_EQ(dropping.last_window().count(), 8);
    const auto same = with.parameters().values();
    EXPECT_EQ(differing_bits(std::as_bytes(std::span<const float>(same)), dropping.parameter_bytes()), 0) << bad;
  }
  EXPECT_EQ(dropping.dropped_micro_batches(), 3);
  const std::vector<float> bad(16, -1.0f);
  EXPECT_EQ(dropping.accumulate(8, [&](EagerTape& tape) { return third.loss(tape.input(bad, {2})); }), 0);
  EXPECT_EQ(dropping.dropped_windows(), 1);
  EXPECT_EQ(dropping.position(), 0);

  Parameters others(Device::cpu());
  Root same(others.root());
  Session raising(others, optimizer, {.global_batch = 8, .seed = 1, .non_finite = NonFinite::raise});
  EXPECT_THROW(raising.accumulate(24, [&](EagerTape& tape) { return same.loss(tape.input(dirty, {2})); }), NonFiniteError);
}

TEST(NonFinite, ATrainerCountsWhatItDropped) {
  auto dirty = samples();
  dirty[5] = -1;
  Trainer trainer(Net{}, optimizer, {.global_batch = 8, .micro_batch = 4});
  testing::internal::CaptureStderr();
  const History history = trainer.fit(Dataset<float>::of(24, dirty), {.epochs = 2, .progress = Progress::always});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("  2 windows dropped, not finite  "), std::string::npos);
  EXPECT_EQ(history.back().steps, 4);
  EXPECT_EQ(history.back().dropped_windows, 2);
  EXPECT_TRUE(std::isfinite(history.back().training.loss()));
}

TEST(NonFinite, ADroppedMicroBatchIsAsIfItsWindowHadBeenGivenOnlyTheOthers) {
  const auto clean = samples();
  for (const float bad : {-1.0f, 0.0f})     // NaN; only the gradient is not finite
    for (const int dropped : {0, 1, 2, 3}) {  // of the four micro-batches of the second window
      auto dirty = clean;
      dirty[static_cast<std::size_t>(8 * 2 + 4 * dropped + 2)] = bad;
      auto with = dropping_session(), without = session_of(NonFinite::drop_window);
      EXPECT_EQ(with.accumulate(dirty), 3);
      EXPECT_EQ(with.dropped_micro_batches(), 1);
      EXPECT_EQ(with.dropped_windows(), 0);
      without.accumulate(std::span(clean).first(16));
      for (int part = 0; part < 4; ++part)
        if (part != dropped) without.accumulate(std::span(clean).subspan(static_cast<std::size_t>(16 + 4 * part), 4));
      without.flush();
      EXPECT_EQ(without.last_window().weight(), 6);  // the mean of what remains
      without.accumulate(std::span(clean).last(16));
      EXPECT_EQ(differing_bits(state_of(with), state_of(without)), 0) << bad << ' ' << dropped;
    }
}

TEST(NonFinite, AWindowWhoseEveryMicroBatchIsDroppedMakesNoStep) {
  auto dirty = samples();
  for (std::size_t i = 16; i < 32; i += 4) dirty[i] = -1;
  auto session = dropping_session();
  EXPECT_EQ(session.accumulate(dirty), 2);
  EXPECT_EQ(session.dropped_micro_batches(), 4);
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(session.accumulate(std::span(dirty).subspan(16, 4)), 0);  // everything given to this window
  EXPECT_EQ(session.window(), 6);
  EXPECT_EQ(session.flush(), 0);
  EXPECT_EQ(session.window(), 8);
}

TEST(NonFinite, ATrainerDropsMicroBatches) {
  auto dirty = samples();
  dirty[5] = -1;
  Trainer trainer(Net{}, optimizer, {.global_batch = 8, .micro_batch = 4, .non_finite = NonFinite::drop_micro_batch});
  const History history = trainer.fit(Dataset<float>::of(24, dirty), {.epochs = 2, .progress = Progress::never});
  EXPECT_EQ(history.back().steps, 6);
  EXPECT_EQ(history.back().dropped_micro_batches, 2);
  EXPECT_EQ(history.back().training.count(), 20);
}

TEST(NonFinite, MemoryDoesNotDecideOnWhatIsDropped) {
  const auto with = [](SessionOptions options) {
    options.non_finite = NonFinite::drop_micro_batch;
    return Session(Net{}, optimizer, options);
  };
  EXPECT_THROW(with({.global_batch = 8}), OptionError);
  EXPECT_THROW(with({.global_batch = 8, .memory_budget = 1_MiB}), OptionError);
  EXPECT_THROW(with({.global_batch = 8, .micro_batch = 2, .memory_budget = Budget::free_memory()}), OptionError);
  auto session = with({.global_batch = 8, .micro_batch = 2});
  EXPECT_THROW(session.set_budget(1_MiB), OptionError);
  EXPECT_THROW(Trainer(Net{}, optimizer, {.global_batch = 8, .non_finite = NonFinite::drop_micro_batch}), OptionError);
  Parameters parameters(Device::cpu());
  Root net(parameters.root());
  EXPECT_THROW(Session(parameters, optimizer, {.global_batch = 8, .non_finite = NonFinite::drop_micro_batch}), OptionError);
}

/// Two layers, of which the second takes a logarithm.
struct TwoLayers {
  nn::Linear first;
  Parameter scale;
  constexpr explicit TwoLayers(Scope s)
      : first(s / "first", 2, 3), scale((s / "second").parameter("scale", Shape{3}, init::constant(1))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(log(first(x) * scale), {-1})); }
};

TEST(NonFinite, IsFoundWhereItIsMade) {
  using Layers = Compiled<TwoLayers, Inputs<f32[2]>>;
  std::vector<float> parameters = {1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1};  // rows of the weight, bias, scale
  const std::vector<float> fine = {1, 2, 3, 4}, wrong = {1, 2, 3, -4};
  EXPECT_EQ((first_non_finite<Layers>(parameters, fine)), "");
  EXPECT_EQ((first_non_finite<Layers>(parameters, wrong)), "log in layer 'second': element 4 is nan, of -4");
  parameters[0] = std::numeric_limits<float>::max();
  EXPECT_EQ((first_non_finite<Layers>(parameters, wrong)),
            "matmul in layer 'first': element 3 is inf");
}

TEST(NonFinite, AGivenGradientIsRefused) {
  auto session = session_of(NonFinite::drop_window);
  const std::vector<float> gradient = {1, 1, std::numeric_limits<float>::infinity(), 0};
  EXPECT_THROW(session.apply(gradient, 1), DataError);
}

TEST(NonFinite, ATrainerThatIsToldGoesOnBehindTheWindow) {
  auto x = samples();
  x.resize(3 * 8 * 2);
  x[5] = -1;
  const auto data = Dataset<float>::of(24, x);
  for (const std::int64_t micro_batch : {8, 4, 3}) {
    Trainer trainer(Net{}, optimizer,
                    {.global_batch = 8, .micro_batch = micro_batch, .seed = 1, .non_finite = NonFinite::raise});
    int caught = 0;
    for (int tries = 0; tries < 5 && trainer.epoch() == 0; ++tries) try {
        trainer.fit(data, {.epochs = 1, .progress = Progress::never});
      } catch (const NonFiniteError&) {
        ++caught;
      }
    EXPECT_EQ(caught, 1) << micro_batch;
    EXPECT_EQ(trainer.session().step_count(), 2) << micro_batch;
  }
}

}  // namespace non_finite_test
