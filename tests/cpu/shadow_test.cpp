// Windows whose sums are held in double, or in two floats: the bits of the reference, and of every split; received unrounded
// by the optimizer; kept in states; planned to the byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <gradual/autodiff/reference.hpp>
#include <gradual/train/print_plan.hpp>

#include "../models.hpp"

namespace shadow_test {

using namespace models;

template <class Session>
std::vector<std::byte> trained_bytes(const Session& session) {
  std::vector<std::byte> bytes(session.parameter_bytes().begin(), session.parameter_bytes().end());
  bytes.insert(bytes.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return bytes;
}

template <class S>
class Shadows : public testing::Test {};
using Wide = testing::Types<double, Compensated<float>>;
TYPED_TEST_SUITE(Shadows, Wide);

TYPED_TEST(Shadows, AreThoseOfTheReference) {
  using Net = SumsNet;
  using Layout = TrainingLayout<Net, ClipByGlobalNorm<Adam>, TypeParam>;
  constexpr std::size_t samples = 300;  // two closed blocks of 128 and an open one
  const auto image = numbers(samples * 16);
  const auto token = labels(samples, 7), label = labels(samples, 3);
  const auto optimizer = Accumulate{ClipByGlobalNorm{Adam{.learning_rate = 0.02f}, 0.25}}.in<TypeParam>();
  Session session(Net{}, optimizer, {.global_batch = 2 * samples, .micro_batch = samples, .seed = 3});
  ASSERT_EQ(session.allocated_bytes(), session.memory().total());
  std::vector<std::vector<double>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  session.accumulate(image, token, label);
  session.flush();

  const Tape tape = thaw(Layout::Training::graph);
  const std::vector<std::vector<double>> data = {
      {image.begin(), image.end()}, {token.begin(), token.end()}, {label.begin(), label.end()}};
  const Reference<float, TypeParam> step(tape, samples, data, parameters, {samples});
  std::vector<double> all, gradient;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto& of = step.root(Role::gradient, p);
    gradient.insert(gradient.end(), of.begin(), of.end());
    all.insert(all.end(), parameters[static_cast<std::size_t>(p)].begin(), parameters[static_cast<std::size_t>(p)].end());
  }
  const auto sums = session.accumulator();
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(sums)), std::as_bytes(std::span(gradient))), 0);
  int rounded = 0;
  for (const double g : gradient) rounded += g != static_cast<double>(static_cast<float>(g));
  EXPECT_GT(rounded, static_cast<int>(gradient.size()) / 2);

  const Tape update = thaw(Layout::UpdateProgram::graph);
  const std::vector<double> zeros(all.size(), 0.0);
  std::vector<double> scalars = {samples, 1};
  const auto recorded = scalars_of(Layout::UpdateProgram::tables, trace_update(optimizer.inner, Net::declared(), DType::f64));
  for (std::size_t s = rule_scalars; s < recorded.size(); ++s) scalars.push_back(recorded[s].at(0));
  const Reference<float, TypeParam> expected(update, 1, {all, gradient, zeros, zeros}, {}, scalars);
  const auto values = session.parameters().values();
  const std::vector<double> got(values.begin(), values.end());
  EXPECT_EQ(got, expected.root(Role::value, 0));
}

template <class S, class Rule>
void expect_same_bits_for_every_split(const Rule& rule) {
  const auto x = numbers(1024 * 9);
  const auto y = labels(1024, 5);
  const auto trained = [&](const std::vector<std::size_t>& split) {
    Session session(ClassifierNet{}, Accumulate{rule}.template in<S>(), {.global_batch = 1024, .seed = 7});
    for (int step = 0; step < 10; ++step)
      for (std::size_t at = 0; std::size_t part : split) {
        session.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
        at += part;
      }
    EXPECT_EQ(session.step_count(), 10);
    return trained_bytes(session);
  };
  const auto whole = trained({1024});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(16, 64))), 0);
  EXPECT_EQ(differing_bits(whole, trained({341, 341, 341, 1})), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 616})), 0);
}

TYPED_TEST(Shadows, EndInTheSameBitsForEverySplit) {  // case 1
  expect_same_bits_for_every_split<TypeParam>(Adam{});
  expect_same_bits_for_every_split<TypeParam>(ClipByGlobalNorm{Sgd{.momentum = 0.9f, .weight_decay = 0.01f}, 0.5});
}

TYPED_TEST(Shadows, AreKeptInStatesToTheBit) {
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const auto optimizer = Accumulate{Adam{}}.in<TypeParam>();
  const std::string file = testing::TempDir() + "gradual-shadow-" + shadow_name<TypeParam> + ".safetensors";
  Session whole(ClassifierNet{}, optimizer, {.global_batch = 512, .seed = 7});
  whole.accumulate(x, y);
  for (const std::size_t killed : {1, 128, 300, 511}) {
    Session dying(ClassifierNet{}, optimizer, {.global_batch = 512, .seed = 7});
    Session next(ClassifierNet{}, optimizer, {.global_batch = 512});
    dying.accumulate(std::span(x).first(killed * 9), std::span(y).first(killed));
    dying.save_state(file);
    const Checkpoint saved = load(file);
    for (const auto& [name, tensor] : saved.tensors)
      if (name.starts_with("window/sum/")) {
        EXPECT_EQ(tensor.dtype, (std::is_same_v<TypeParam, double> ? DType::f64 : DType::f32)) << name;
        EXPECT_EQ(tensor.shape.size(), (std::is_same_v<TypeParam, double> ? 1u : 2u)) << name;
      }
    next.load_state(file);
    EXPECT_TRUE(std::ranges::equal(next.accumulator(), dying.accumulator()));
    next.accumulate(std::span(x).subspan(killed * 9), std::span(y).subspan(killed));
    EXPECT_EQ(next.step_count(), 1);
    EXPECT_EQ(differing_bits(trained_bytes(next), trained_bytes(whole)), 0) << "killed after " << killed;
  }
  std::filesystem::remove(file);
}

TEST(Shadow, AStateWithSumsOfAnotherTypeIsRefusedByName) {
  Session wide(ClassifierNet{}, Accumulate{Adam{}}.in<double>(), {.global_batch = 64, .seed = 1}),
      begun(ClassifierNet{}, Accumulate{Adam{}}.in<double>(), {.global_batch = 64, .seed = 2});
  Session pairs(ClassifierNet{}, Accumulate{Adam{}}.in<Compensated<float>>(), {.global_batch = 64, .seed = 3});
  begun.accumulate(numbers(20 * 9), labels(20, 5));
  const auto before = trained_bytes(wide);
  const auto refusal = [&](const Checkpoint& state) {
    try {
      wide.restore(state);
      return std::string("accepted");
    } catch (const FileError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal(pairs.state()), "the state is of another shadow: 'compensated' instead of 'double'");
  Checkpoint rounded = begun.state();
  for (auto& [name, tensor] : rounded.tensors)
    if (name.starts_with("window/sum/")) tensor.dtype = DType::f32;
  EXPECT_NE(refusal(rounded).find("is of float, not of double"), std::string::npos);
  EXPECT_EQ(differing_bits(trained_bytes(wide), before), 0);
  EXPECT_EQ(refusal(begun.state()), "accepted");
}

TYPED_TEST(Shadows, LeaveFrozenParametersAlone) {
  const auto optimizer = Accumulate{Adam{}}.in<TypeParam>();
  Session all(ClassifierNet{}, optimizer, {.global_batch = 100, .seed = 5}),
      some(ClassifierNet{}, optimizer, {.global_batch = 100, .seed = 5, .freeze = {"hidden/*"}}),
      none(ClassifierNet{}, optimizer, {.global_batch = 100, .seed = 5});
  all.accumulate(numbers(900), labels(100, 5));
  some.accumulate(numbers(900), labels(100, 5));
  for (int p = 0; p < ClassifierNet::parameter_count; ++p) {
    const bool frozen = some.parameters()[p].name.starts_with("hidden");
    const auto expected = (frozen ? none : all).parameters()[p].values;
    const auto other = (frozen ? all : none).parameters()[p].values;
    EXPECT_TRUE(std::ranges::equal(some.parameters()[p].values, expected)) << p;
    EXPECT_FALSE(std::ranges::equal(some.parameters()[p].values, other)) << p;
  }
  EXPECT_EQ(some.allocated_bytes(), ClassifierNet::training_memory(optimizer, 100, {.open_blocks = OpenBlocks::always,
                                                                                    .frozen = 10 * 17}).total());
}

constexpr auto in_float = Accumulate{Adam{}};
constexpr MemoryTable narrow = ClassifierNet::training_memory(in_float, 100);
constexpr MemoryTable twice = ClassifierNet::training_memory(in_float.in<double>(), 100);
static_assert(twice.gradients == aligned(ClassifierNet::parameter_elements * 8));
static_assert(twice.parameters == narrow.parameters && twice.optimizer_state == narrow.optimizer_state);
static_assert(twice.open_blocks == narrow.open_blocks && twice.activations == narrow.activations);
static_assert(ClassifierNet::training_memory(in_float.in<Compensated<float>>(), 100).total() == twice.total());
static_assert(ClassifierNet::largest_batch(in_float.in<double>(), 64_KiB).batch <
              ClassifierNet::largest_batch(in_float, 64_KiB).batch);

TYPED_TEST(Shadows, TakeTheBytesThatArePlanned) {
  const auto optimizer = in_float.in<TypeParam>();
  for (const std::int64_t batch : {1, 64, 100, 512})
    for (const OpenBlocks open : {OpenBlocks::as_needed, OpenBlocks::always}) {
      Session session(ClassifierNet{}, optimizer, {.global_batch = 512, .micro_batch = batch, .open_blocks = open});
      const MemoryTable planned = ClassifierNet::window_memory<decltype(optimizer)>(batch, 512, {.open_blocks = open});
      EXPECT_EQ(session.allocated_bytes(), planned.total());
    }
}

TEST(Shadow, WhatItCostsIsSaid) {
  const std::string table = memory_by_shadow<ClassifierNet>(in_float, 100);
  EXPECT_NE(table.find("sums in                   float         double    compensated"), std::string::npos) << table;
  EXPECT_NE(table.find(detail::grouped(narrow.gradients)), std::string::npos) << table;
  try {
    Session session(ClassifierNet{}, in_float.in<double>(), {.global_batch = 100, .memory_budget = 1000});
    FAIL();
  } catch (const MemoryError& error) {
    const std::string saved = std::to_string(twice.gradients - narrow.gradients) + " B less: sums in float";
    EXPECT_NE(std::string(error.what()).find(saved), std::string::npos) << error.what();
  }
}

}  // namespace shadow_test
