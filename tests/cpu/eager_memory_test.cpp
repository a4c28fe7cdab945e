// Eager memory: steps after the first take it from the pool, all of it comes back, and a limit is kept.
#include <gtest/gtest.h>

#include <filesystem>

#include "../count_allocations.hpp"
#include "../error_of.hpp"
#include "../models.hpp"

namespace eager_memory_test {

using namespace models;

TEST(EagerMemory, NothingIsAllocatedAfterTheFirstStep) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Parameters parameters(Device::cpu());
  const Dropped net(parameters.root());
  Session session(parameters, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 64, .micro_batch = 20});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  session.accumulate(64, record);
  const std::int64_t live = parameters.device().live_bytes(), reserved = parameters.device().reserved_bytes();
  const std::int64_t before = system_allocations;
  for (int step = 0; step < 20; ++step) session.accumulate(64, record);
  EXPECT_EQ(system_allocations - before, 0);
  EXPECT_EQ(session.step_count(), 21);
  EXPECT_EQ(parameters.device().live_bytes(), live);
  EXPECT_EQ(parameters.device().reserved_bytes(), reserved);
}

TEST(EagerMemory, IsCountedByCategory) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Parameters parameters(Device::cpu(32 * 1024));
  const Device& device = parameters.device();
  const Dropped net(parameters.root());
  Session session(parameters, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 128});
  const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); };
  const std::int64_t held = device.live_bytes(Category::parameters);
  EXPECT_EQ(held, 1280);  // 260 floats, in the pool's sizes
  EXPECT_EQ(device.live_bytes(Category::optimizer_state), 2 * held);
  EXPECT_EQ(device.live_bytes(Category::gradients), held);
  EXPECT_EQ(device.live_bytes(Category::values), 0);
  session.accumulate(64, record);
  EXPECT_GT(device.live_bytes(Category::gradients), held);
  session.accumulate(64, record);  // the window ends and frees its sums
  EXPECT_EQ(device.live_bytes(Category::gradients), held);
  session.accumulate(64, record);
  std::int64_t all = 0;
  for (int c = 0; c < category_count; ++c) all += device.live_bytes(static_cast<Category>(c));
  EXPECT_EQ(all, device.live_bytes());
  try {
    const Tensor large = Tensor::from(device, std::span<const float>(numbers(10000)), {10000});
    FAIL();
  } catch (const MemoryError& error) {
    EXPECT_NE(std::string(error.what()).find("; parameters hold 1280; gradients hold "), std::string::npos) << error.what();
  }
}

TEST(EagerMemory, StepsOfASequenceTakeMemoryByTheirNumberNotByItsSquare) {
  constexpr int steps = 600;  // their gates are 58 KB; a copy for each step would be 35 MB
  const auto x = numbers(steps), y = numbers(steps * 8);
  Parameters parameters(Device::cpu(8 << 20));
  const nn::Gru gru(parameters.root(), 1, 8);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 1});
  session.accumulate(1, [&](EagerTape& tape) {
    const Var in = tape.input(x, {steps, 1}), wanted = tape.input(y, {steps, 8});
    return Loss(mse(stack(gru(in), 1), wanted));
  });
  EXPECT_EQ(session.step_count(), 1);
}

TEST(EagerMemory, OfWhatBackwardMakesIsGivenBackWhenItHasBeenRead) {
  constexpr int steps = 100, samples = 8, width = 16;
  const auto x = numbers(samples * steps), y = numbers(samples * width);
  // 17 rows of `width` for each step: gates and states, and what the weights' gradients read. All values would be 120 more.
  Parameters parameters(Device::cpu(std::int64_t{18} * steps * samples * width * 4));
  const nn::Gru gru(parameters.root(), 1, width);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = samples, .micro_batch = samples});
  int parts = 0;
  session.accumulate(samples, [&](EagerTape& tape) {
    ++parts;
    return Loss(mse(gru(tape.input(x, {steps, 1})).back(), tape.input(y, {width})));
  });
  EXPECT_EQ(session.step_count(), 1);
  EXPECT_EQ(parts, 1);
}

TEST(EagerMemory, OfEvaluationsIsThatOfWhatIsStillRead) {
  constexpr int steps = 100, samples = 8, width = 16;
  const auto x = numbers(samples * steps);  // the gates of all steps are computed at once, three rows of `width` each
  Parameters parameters(Device::cpu(std::int64_t{steps} * samples * (7 * width + 4) * 4));  // and what `gradients` reads
  const nn::Gru gru(parameters.root(), 1, width);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = samples, .micro_batch = samples});
  std::int64_t largest = 0;
  const auto last = [&](EagerTape& tape) {
    largest = tape.batch();
    const Var in = tape.input(x, {steps, 1});
    gradients(sum(square(in), {1, 2}), {in});  // after which ops are still noted
    return gru(in).back();
  };
  const std::vector<float> states = session.predict(samples, last);
  EXPECT_EQ(largest, samples);
  float sum_of_first = 0;
  for (int c = 0; c < width; ++c) sum_of_first += states[static_cast<std::size_t>(c)];
  const auto losses = session.losses(samples, [&](EagerTape& tape) { return Loss(sum(last(tape), {1})); });
  EXPECT_EQ(largest, samples);
  EXPECT_NEAR(losses[0], sum_of_first, 1e-5);
}

struct Wide {
  nn::LayerNorm norm;
  nn::Linear output;
  explicit Wide(Scope s) : norm(s / "norm", 4096), output(s / "output", 4096, 5) {}
  Loss loss(Var x, Var y) const { return {cross_entropy(output(gelu(norm(reshape(x, x.shape())))), y)}; }
};

TEST(EagerMemory, WideValuesAreComputedAFewSamplesAtATime) {
  const auto x = numbers(40 * 4096);
  const auto y = labels(40, 5);
  std::vector<std::vector<float>> results;
  for (const int micro : {40, 13, 4}) {  // eight samples at a time, and a remainder
    Parameters parameters(Device::cpu());
    const Wide net(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 40, .micro_batch = micro});
    const auto record = [&](EagerTape& tape) { return net.loss(tape.input(x, {4096}), tape.input(y)); };
    for (int step = 0; step < 2; ++step) session.accumulate(40, record);
    results.emplace_back(parameters.values().begin(), parameters.values().end());
    if (micro == 40) {
      EXPECT_LT(parameters.device().reserved_bytes(), 12 * 40 * 4096 * 4);  // 21 values were recorded
    }
  }
  for (const auto& result : results)
    EXPECT_EQ(differing_bits(std::as_bytes(std::span(result)), std::as_bytes(std::span(results[0]))), 0);
}

TEST(EagerMemory, WhatASweepDidNotKeepIsComputedAgain) {
  const auto x = numbers(40 * 4096);
  const auto y = labels(40, 5);
  Parameters parameters(Device::cpu());
  const Wide net(parameters.root());
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 40});
  session.accumulate(40, [&](EagerTape& tape) {
    const Var in = tape.input(x, {4096}), once = exp(in);
    value(sum(once * once, {-1}));
    const Tensor again = value(once), alone = value(exp(in));
    EXPECT_EQ(differing_bits(std::as_bytes(again.values<float>()), std::as_bytes(alone.values<float>())), 0);
    return net.loss(in, tape.input(y));
  });
  EXPECT_EQ(session.step_count(), 1);
}

TEST(EagerMemory, IsCountedAndComesBack) {
  const Device device = Device::cpu();
  EXPECT_EQ(device.live_bytes(), 0);
  {
    const Tensor a = Tensor::from(device, std::span<const float>(numbers(1000)), {1000}), b = a;
    EXPECT_EQ(device.live_bytes(), 4096);  // the pool has four sizes for each power of two
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

TEST(EagerMemory, LimitsOfAnySizeAreKept) {  // case 12
  const auto x = numbers(1000);
  const auto needs = [&](const Device& device) {
    EagerTape tape(device);
    exp(tape.input(Tensor::from(device, std::span<const float>(x), {1000})));
    return device.live_bytes();
  };
  const std::int64_t need = needs(Device::cpu());
  for (const Budget limit : {Budget(need), Budget(std::uint64_t{1} << 63)}) EXPECT_EQ(needs(Device::cpu(limit)), need);
  for (const std::int64_t limit : {need - 1, std::int64_t{0}}) try {
      needs(Device::cpu(limit));
      FAIL() << "a limit of " << limit;
    } catch (const MemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("exceed the limit of " + std::to_string(limit)), std::string::npos)
          << error.what();
    }
}

struct EagerDropout : testing::Test {
  const std::vector<float> x = numbers(100 * 9);
  const std::vector<std::int32_t> y = labels(100, 5);
  std::int64_t smallest = 100;  // of the parts that were recorded to the end

  /// Trains three windows of 100 samples; retries, after `relieve`, what a MemoryError ended.
  template <class Relieve>
  std::vector<std::byte> trained(Parameters& parameters, const Dropped& net, Relieve relieve) {
    std::vector<std::byte> all;
    const auto tried = [&](auto f) {
      try {
        f();
        return true;
      } catch (const MemoryError&) {
        relieve();
        return false;
      }
    };
    const auto train = [&] {
      Session session(parameters, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 100, .seed = 5});
      while (session.step_count() < 3 && !HasFatalFailure())
        tried([&] {
          if (session.position() == 100) session.flush();
          else
            session.accumulate(100, [&](EagerTape& tape) {
              const Loss loss = net.loss(tape.input(x, {9}), tape.input(y));
              smallest = std::min(smallest, tape.batch());
              return loss;
            });
        });
      failing_allocation = none;
      all.assign(session.parameter_bytes().begin(), session.parameter_bytes().end());
      const auto state = std::as_bytes(session.optimizer_state(0));
      all.insert(all.end(), state.begin(), state.end());
    };
    while (!tried(train) && !HasFatalFailure()) continue;
    return all;
  }
};

TEST_F(EagerDropout, WhatDoesNotFitIsRecordedInSmallerPartsToTheSameBits) {
  const auto in = [&](std::int64_t limit) {
    smallest = 100;
    Parameters parameters(Device::cpu(limit));
    const Dropped net(parameters.root());
    return trained(parameters, net, [&] { FAIL() << "a limit of " << limit; });
  };
  const auto plenty = in(Device::unlimited);
  EXPECT_EQ(smallest, 100);
  for (const std::int64_t limit : {60, 40, 27, 26, 24, 20}) {
    EXPECT_EQ(differing_bits(plenty, in(limit * 1024)), 0) << limit;
    EXPECT_LT(smallest, 64) << limit;
  }
}

TEST_F(EagerDropout, EvaluatesInSmallerPartsToTheSameBits) {
  const auto in = [&](std::int64_t limit) {
    Parameters parameters(Device::cpu(limit));
    const Dropped net(parameters.root());
    Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 100, .seed = 5});
    const auto record = [&](EagerTape& tape) {
      const Loss loss = net.loss(tape.input(x, {9}), tape.input(y));
      smallest = std::min(smallest, tape.batch());
      return loss;
    };
    smallest = 1000;
    EXPECT_THROW(session.evaluate(0, record), DataError);
    return session.evaluate(100, record).loss();
  };
  const double plenty = in(Device::unlimited);
  EXPECT_EQ(smallest, 100);
  EXPECT_EQ(in(8 * 1024), plenty);
  EXPECT_LT(smallest, 64);
}

TEST_F(EagerDropout, AnyAllocationMayFail) {  // case 15: every one, once and for ever, in construction and in steps
  int refused = 0;
  const auto failing = [&](std::int64_t n, bool for_ever) {
    Parameters parameters(Device::cpu());
    const Dropped net(parameters.root());
    fails_for_ever = for_ever;
    failing_allocation = n == none ? none : allocations + n;
    auto bytes = trained(parameters, net, [&] { failing_allocation = none, ++refused; });
    failing_allocation = none;
    return bytes;
  };
  const auto undisturbed = failing(none, false);
  const std::int64_t before = allocations;
  failing(none, false);
  const std::int64_t total = allocations - before, baseline = live_bytes;
  for (const bool for_ever : {false, true})
    for (std::int64_t n = 0; n < total; ++n) {
      EXPECT_EQ(differing_bits(undisturbed, failing(n, for_ever)), 0) << n;
      ASSERT_EQ(live_bytes, baseline) << n;
    }
  EXPECT_GT(refused, total);
  std::printf("%d of %lld failures were refused\n", refused, static_cast<long long>(2 * total));
}

TEST_F(EagerDropout, SavingAndRestoringAStateMayFail) {  // case 15
  const std::string file = "eager_state_of_any_allocation.safetensors";
  const SessionOptions options{.global_batch = 100, .seed = 5};
  Parameters mine(Device::cpu()), theirs(Device::cpu());
  const Dropped net(mine.root()), copy(theirs.root());
  Session session(mine, Accumulate{Adam{}}, options), other(theirs, Accumulate{Adam{}}, options);
  const auto give = [&](auto& to, const Dropped& model, std::int64_t samples) {
    to.accumulate(samples, [&](EagerTape& tape) {
      return model.loss(tape.input(std::span(x).first(static_cast<std::size_t>(samples) * 9), {9}),
                        tape.input(std::span(y).first(static_cast<std::size_t>(samples))));
    });
  };
  give(session, net, 100), give(session, net, 50);  // a step, and half of a window
  give(other, copy, 50);
  const auto refused = [](std::int64_t n, auto f) {
    fails_for_ever = n % 2 == 0;
    failing_allocation = allocations + n;
    bool failed = false;
    try {
      f();
    } catch (const MemoryError&) {
      failed = true;
    }
    failing_allocation = none;
    return failed;
  };
  std::int64_t saves = 0, restores = 0;
  while (refused(saves, [&] { session.save_state(file); })) {
    EXPECT_FALSE(std::filesystem::exists(file)) << saves;
    ++saves;
  }
  const Checkpoint before = other.state();
  while (refused(restores, [&] { other.load_state(file); })) {
    const Checkpoint now = other.state();
    EXPECT_EQ(now.notes, before.notes) << restores;
    for (const auto& [name, tensor] : before.tensors) EXPECT_EQ(now.tensors.at(name).values, tensor.values) << name;
    ++restores;
  }
  std::filesystem::remove(file);
  EXPECT_GT(saves, 10);
  EXPECT_GT(restores, 10);
  give(session, net, 50), give(other, copy, 50);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
}

TEST(EagerMemory, ALimitIsANumber) {
  EXPECT_EQ(error_of<OptionError>([] { Device::cpu(Budget::free_memory()); }),
            "a device's limit must be a number of bytes: Budget::free_memory() is for sessions");
}

}  // namespace eager_memory_test
