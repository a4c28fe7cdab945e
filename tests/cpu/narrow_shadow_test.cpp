// Windows whose sums are held in two numbers of 16 bits: they count what one of these cannot, and the optimizer receives
// them unrounded; the bits of the reference, and of every split; kept in states as floats; planned to the byte.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <gradual/autodiff/reference.hpp>

#include "../models.hpp"

namespace narrow_shadow_test {

using namespace models;

/// A sample's gradient is the sum of its numbers, which form a block of the window.
struct Slope {
  Parameter weight;
  constexpr explicit Slope(Scope s) : weight(s.parameter("weight", Shape{1, 1}, init::constant(0))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(matmul(x, weight), {1, 2})); }
};
using SlopeNet = Compiled<Slope, Inputs<f32[128][1]>>;

/// Keeps the window's sum as it is received.
struct Keeping {
  struct State {
    Var sum;
  };
  constexpr auto operator()(Var parameter, Var gradient, State) const {
    return update(parameter, State{gradient * weight_of_window(gradient)});
  }
};

template <class Part>
float kept_sum_of_ones(std::int64_t samples) {
  using Optimizer = Accumulate<Keeping, Compensated<Part>>;
  static_assert(session_tables<SlopeNet, Keeping, Compensated<Part>>.block_samples == 1);
  Session<SlopeNet, Optimizer> session(SlopeNet{}, Optimizer{}, {.global_batch = samples, .micro_batch = 64});
  std::vector<float> x(static_cast<std::size_t>(samples) * 128);
  for (std::size_t i = 0; i < x.size(); i += 128) x[i] = 1;
  session.accumulate(std::span(x).first(x.size() - 128));
  const Checkpoint state = session.state();
  for (const auto& [name, tensor] : state.tensors)
    if (name.starts_with("window/sum/")) {
      EXPECT_EQ(tensor.values, std::vector<float>{static_cast<float>(samples - 1)}) << name;
    }
  session.accumulate(std::span(x).last(128));
  EXPECT_EQ(session.step_count(), 1);
  return *reinterpret_cast<const float*>(session.optimizer_state_bytes().data());
}

TEST(NarrowShadow, CountsMoreOnesThanOneOfItsNumbersCan) {  // case 5; plain sums in the same types stop at 256 and 2048
  EXPECT_EQ(kept_sum_of_ones<bf16>(1024), 1024);
  EXPECT_EQ(kept_sum_of_ones<bf16>(1023), 1023);  // no bf16 value: it was not rounded
  EXPECT_EQ(kept_sum_of_ones<f16>(4096), 4096);
  EXPECT_EQ(kept_sum_of_ones<f16>(4095), 4095);
}

using Shadow = Compensated<bf16>;
using Layout = TrainingLayout<SumsNet, Sgd, Shadow>;
constexpr auto optimizer = Accumulate{Sgd{.learning_rate = 0.5f, .momentum = 0.9f}}.in<Shadow>();
constexpr std::size_t window = 300;

struct SumsData {
  std::vector<float> image = numbers(window * 16);
  std::vector<std::int32_t> token = labels(window, 7), label = labels(window, 3);
};

auto session_for(std::int64_t micro_batch) {
  return Session(SumsNet{}, optimizer, {.global_batch = window, .micro_batch = micro_batch, .seed = 3});
}
template <class Session>
void give(Session& session, const SumsData& data, std::size_t at, std::size_t count) {
  session.accumulate(std::span(data.image).subspan(at * 16, count * 16), std::span(data.token).subspan(at, count),
                     std::span(data.label).subspan(at, count));
}
template <class Session>
std::vector<std::byte> trained_bytes(const Session& session) {
  std::vector<std::byte> bytes(session.parameter_bytes().begin(), session.parameter_bytes().end());
  bytes.insert(bytes.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return bytes;
}

TEST(NarrowShadow, IsThatOfTheReference) {
  const SumsData data;
  auto session = session_for(window);
  std::vector<std::vector<float>> parameters;
  for (int p = 0; p < SumsNet::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  give(session, data, 0, window);
  const std::vector<std::vector<float>> samples = {
      data.image, {data.token.begin(), data.token.end()}, {data.label.begin(), data.label.end()}};
  const Tape tape = thaw(Layout::Training::graph);
  const Reference<float, Shadow> narrow(tape, window, samples, parameters, {window});
  const Reference<float> wide(tape, window, samples, parameters, {window});
  std::vector<float> expected;
  int rounded = 0;
  for (int p = 0; p < SumsNet::parameter_count; ++p) {
    const auto &of = narrow.root(Role::gradient, p), &exact = wide.root(Role::gradient, p);
    expected.insert(expected.end(), of.begin(), of.end());
    for (std::size_t i = 0; i < of.size(); ++i) {
      rounded += of[i] != exact[i];
      EXPECT_NEAR(of[i], exact[i], 0x1p-12f * (1 + std::abs(exact[i])));
    }
  }
  const auto sums = session.accumulator();
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(sums)), std::as_bytes(std::span(expected))), 0);
  EXPECT_GT(rounded, 10);
}

TEST(NarrowShadow, EndsInTheSameBitsForEverySplitAndEveryResume) {
  const SumsData data;
  auto whole = session_for(window);
  for (int step = 0; step < 5; ++step) give(whole, data, 0, window);
  const std::string file = testing::TempDir() + "gradual-narrow-shadow.safetensors";
  for (const std::size_t part : {1u, 7u, 128u, 200u}) {
    auto split = session_for(64), resumed = session_for(41);
    for (int step = 0; step < 4; ++step)
      for (std::size_t at = 0; at < window; at += part) give(split, data, at, std::min(part, window - at));
    give(split, data, 0, part);
    split.save_state(file);
    resumed.load_state(file);
    const Checkpoint saved = load(file), again = resumed.state();
    for (const auto& [name, tensor] : saved.tensors) {
      EXPECT_EQ(again.tensor(name).values, tensor.values) << name;
      EXPECT_FALSE(name.starts_with("window/") && tensor.shape.size() != 1) << name;
    }
    for (auto* session : {&split, &resumed}) {
      give(*session, data, part, window - part);
      EXPECT_EQ(session->step_count(), 5);
      EXPECT_EQ(differing_bits(trained_bytes(*session), trained_bytes(whole)), 0) << part;
    }
  }
  std::filesystem::remove(file);
}

TEST(NarrowShadow, MicroBatchesAreUndone) {
  SumsData data;
  for (std::size_t i = 100 * 16; i < 150 * 16; ++i) data.image[i] = 1e38f;
  const auto options = [](std::int64_t samples, NonFinite policy) {
    return SessionOptions{
        .global_batch = samples, .micro_batch = 50, .seed = 3, .non_finite = policy, .noise_batch = 50};
  };
  Session with(SumsNet{}, optimizer, options(window, NonFinite::drop_micro_batch));
  Session without(SumsNet{}, optimizer, options(window - 50, NonFinite::drop_window));
  give(with, data, 0, window);
  give(without, data, 0, 100);
  give(without, data, 150, 150);
  EXPECT_EQ(with.dropped_micro_batches(), 1);
  EXPECT_EQ(without.step_count(), 1);
  EXPECT_EQ(differing_bits(trained_bytes(with), trained_bytes(without)), 0);
  EXPECT_EQ(with.gradient_noise().windows, 1);
  EXPECT_EQ(with.gradient_noise().variance, without.gradient_noise().variance);
}

TEST(NarrowShadow, AStateWithSumsOfAnotherTypeIsRefusedByName) {
  auto session = session_for(64);
  const auto before = trained_bytes(session);
  Checkpoint state = session.state();
  EXPECT_EQ(state.notes["shadow"], "compensated bf16");
  state.notes["shadow"] = shadow_name<Compensated<f16>>;
  try {
    session.restore(state);
    FAIL();
  } catch (const FileError& error) {
    EXPECT_STREQ(error.what(), "the state is of another shadow: 'compensated f16' instead of 'compensated bf16'");
  }
  EXPECT_EQ(differing_bits(trained_bytes(session), before), 0);
}

TEST(NarrowShadow, TakesTheBytesOfFloats) {
  constexpr MemoryTable in_float = SumsNet::training_memory(Accumulate{Sgd{}}, 64);
  static_assert(SumsNet::training_memory(optimizer, 64).total() == in_float.total());
  auto session = session_for(64);
  EXPECT_EQ(session.allocated_bytes(), SumsNet::window_memory<decltype(optimizer)>(64, window).total());
}

}  // namespace narrow_shadow_test
