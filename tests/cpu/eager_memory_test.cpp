// Eager memory: steps after the first take it from the pool, all of it comes back, and a limit is kept.
#include <gtest/gtest.h>

#include "../count_allocations.hpp"
#include "../models.hpp"

using namespace models;

namespace {

TEST(EagerMemory, NothingIsAllocatedAfterTheFirstStep) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Parameters parameters(Device::cpu());
  const Dropped net(parameters.root());
  Session session(parameters, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 64, .micro_batch = 20});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  session.accumulate(64, record);
  const std::int64_t live = parameters.device().live_bytes(), reserved = parameters.device().reserved_bytes();
  const std::int64_t before = allocations;
  for (int step = 0; step < 20; ++step) session.accumulate(64, record);
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(session.step_count(), 21);
  EXPECT_EQ(parameters.device().live_bytes(), live);
  EXPECT_EQ(parameters.device().reserved_bytes(), reserved);
}

TEST(EagerMemory, IsCountedAndComesBack) {
  const Device device = Device::cpu();
  EXPECT_EQ(device.live_bytes(), 0);
  {
    const Tensor a = Tensor::from(device, std::span<const float>(numbers(1000)), {1000}), b = a;
    EXPECT_EQ(device.live_bytes(), 4096);  // in pieces of four sizes to a power of two
    EagerTape tape(device);
    Var y = exp(tape.input(a));
    EXPECT_EQ(device.live_bytes(), 2 * 4096);
    const Tensor kept = value(y);
    tape.forget();
    EXPECT_EQ(device.live_bytes(), 2 * 4096);
  }
  EXPECT_EQ(device.live_bytes(), 0);
  EXPECT_EQ(device.reserved_bytes(), 2 * 4096);
  device.trim();
  EXPECT_EQ(device.reserved_bytes(), 0);
}

TEST(EagerMemory, OutlivesItsDevice) {
  const Tensor a = [] { return Tensor::from(Device::cpu(), {1.0f, 2.0f}, {2}); }();
  EXPECT_EQ(a.device().live_bytes(), 64);
  EXPECT_EQ(a[1], 2);
}

TEST(EagerMemory, ALimitIsKeptAndTheTapeGoesOn) {
  const Device device = Device::cpu(3 * 4096 + 1024);
  EagerTape tape(device);
  const Var x = tape.input(Tensor::from(device, std::span<const float>(numbers(1000)), {1000})), y = exp(x), z = y + x;
  const int before = tape.size();
  EXPECT_THROW(z * y, MemoryError);
  EXPECT_EQ(tape.size(), before);
  EXPECT_EQ(value(sum(z, {0}) * 0.0).item(), 0);
}

TEST(EagerMemory, SizesThatCannotBeCountedAreShapeErrors) {  // case 16
  const std::int64_t huge = std::int64_t{1} << 33;
  EXPECT_THROW(Tensor::from(Device::cpu(), std::span<const float>(), {huge, huge}), ShapeError);
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", huge, huge);
  EXPECT_THROW(parameters.initialize(0), ShapeError);
  Parameters large(Device::cpu(1 << 20));
  const nn::Linear other(large.root() / "layer", 1024, 1024);
  EXPECT_THROW(large.initialize(0), MemoryError);
}

/// Trains three steps in at most `limit` bytes; a step that is refused is tried again without a limit that matters.
std::vector<float> trained(std::int64_t limit, int* refused) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Parameters parameters(Device::cpu(limit));
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = 64});
  std::vector<std::unique_ptr<Tensor>> hogs;
  for (int step = 0; step < 3; ++step) {
    if (refused != nullptr) {  // what is left is taken, then given back piece by piece
      try {
        for (;;) hogs.push_back(std::make_unique<Tensor>(Tensor::from(parameters.device(), std::span<const float>(x).first(256), {256})));
      } catch (const MemoryError&) {
      }
    }
    const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
    while (session.step_count() == step) {
      try {
        if (session.position() == 64) session.flush();
        else session.accumulate(64, record);
      } catch (const MemoryError&) {
        ++*refused;
        hogs.resize(hogs.size() - std::min<std::size_t>(hogs.size(), 2));
      }
    }
  }
  const auto values = parameters.values();
  return {values.begin(), values.end()};
}

TEST(EagerMemory, AStepThatRanOutOfItIsRepeatedToTheSameBits) {  // case 15
  int refused = 0;
  const auto plenty = trained(Device::unlimited, nullptr), little = trained(200 * 1024, &refused);
  EXPECT_GT(refused, 10);
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(plenty)), std::as_bytes(std::span(little))), 0);
}

}  // namespace
