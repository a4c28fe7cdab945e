// A budget, not a batch: memory is taken away and given back while a window is open, and no bit depends on it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <gradual/core/system_memory.hpp>

#include "../count_allocations.hpp"
#include "../error_of.hpp"
#include "../models.hpp"

namespace changing_budget_test {

using namespace models;

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};
using Drops = Trainer<DroppedNet, Accumulate<Adam>>;
using Data = Dataset<float, std::int32_t>;

struct ChangingBudget : testing::Test {
  const std::vector<float> x = numbers(600 * 9);
  const std::vector<std::int32_t> y = labels(600, 5);
  const Data data{x, y};
  const TrainerOptions options{.global_batch = 256, .micro_batch = 100, .open_blocks = OpenBlocks::always, .seed = 3};
};

/// One line of the table: the budget, the micro-batch and the total bytes from a sample on.
struct Row {
  std::int64_t sample, budget, micro_batch, bytes;
};

TEST_F(ChangingBudget, CutToAThirdAndGivenBackTwiceChangesNoBit) {
  Drops whole(DroppedNet{}, optimizer, options);
  whole.fit(data, {.epochs = 4, .progress = Progress::never});

  Drops trainer(DroppedNet{}, optimizer, options);
  const std::int64_t plenty = trainer.memory().total(), third = plenty / 3;
  const auto parameters = trainer.parameters().values().data();
  std::vector<Row> table{{0, plenty, 100, plenty}};
  std::int64_t seen = 0;
  const auto change = [&](std::int64_t samples) {
    EXPECT_LE(samples, trainer.session().options().micro_batch);
    const std::int64_t place = seen += samples;
    constexpr std::int64_t changes[] = {150, 640, 1300, 2000};  // taken away, given back, and again
    const std::size_t done = table.size() - 1;
    if (done == std::size(changes) || place < changes[done]) return;
    const std::int64_t budget = done % 2 == 0 ? third : plenty;
    const std::int64_t live = live_bytes, transient = trainer.memory().transient();
    trainer.set_budget(budget);
    EXPECT_EQ(live_bytes - live, trainer.memory().transient() - transient);
    EXPECT_LE(trainer.memory().total(), budget);
    EXPECT_EQ(trainer.parameters().values().data(), parameters);
    table.push_back({seen, budget, trainer.session().options().micro_batch, trainer.memory().total()});
  };
  trainer.fit(data, {.epochs = 4, .progress = Progress::never, .on_micro_batch = change});

  int cuts = 0, restored = 0, inside = 0;
  std::printf("  sample    budget  micro-batch     bytes\n");
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Row& row = table[i];
    std::printf("%8lld %9lld %12lld %9lld\n", static_cast<long long>(row.sample), static_cast<long long>(row.budget),
                static_cast<long long>(row.micro_batch), static_cast<long long>(row.bytes));
    inside += row.sample % 600 % 256 != 0;
    if (i == 0) continue;
    cuts += row.micro_batch < table[i - 1].micro_batch;
    restored += row.micro_batch > table[i - 1].micro_batch;
  }
  EXPECT_EQ(cuts, 2);
  EXPECT_EQ(restored, 2);
  EXPECT_GE(inside, 2) << "no change inside a window";
  EXPECT_EQ(whole.session().step_count(), trainer.session().step_count());
  EXPECT_EQ(differing_bits(whole.session().parameter_bytes(), trainer.session().parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(whole.session().optimizer_state_bytes(), trainer.session().optimizer_state_bytes()), 0);
}

std::int64_t free_now = 0, most_at_once = 0;

/// A processor whose free memory varies because of others.
struct Shared : Cpu {
  struct Memory : HeapBlock {
    Memory() = default;
    explicit Memory(std::int64_t bytes) : HeapBlock(bytes <= most_at_once ? bytes : throw MemoryError("taken")) {}
  };
  static std::int64_t free_memory() { return free_now; }
};

TEST_F(ChangingBudget, FollowsWhatIsFreeToTheSameBits) {
  using Net = Compiled<Classifier, Inputs<f32[9], i32>, Shared>;
  constexpr std::int64_t plenty = std::int64_t{1} << 30;
  SessionOptions asked{.global_batch = 200, .seed = 3};
  most_at_once = plenty;
  Session whole(Net{}, optimizer, asked);
  whole.accumulate(x, y);

  asked.memory_budget = Budget::free_memory();
  free_now = Net::training_memory(optimizer, 30, {.open_blocks = OpenBlocks::always}).total();
  Session session(Net{}, optimizer, asked);
  std::vector<std::int64_t> micro_batches;
  const auto window = [&](std::size_t first) {
    session.accumulate(std::span(x).subspan(first * 9, 200 * 9), std::span(y).subspan(first, 200));
    micro_batches.push_back(session.options().micro_batch);
  };
  free_now = 0;  // taken by this session
  window(0);
  free_now = plenty;
  most_at_once = session.memory().transient() * 2;  // less than `free_memory` claims
  window(200);
  most_at_once = plenty;
  window(400);
  EXPECT_EQ(micro_batches[0], 30);
  EXPECT_GT(micro_batches[1], 30);
  EXPECT_LT(micro_batches[1], 200);
  EXPECT_EQ(micro_batches[2], 200);
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), session.parameter_bytes()), 0);
  free_now = 0;
  EXPECT_THROW(Session(Net{}, optimizer, asked), MemoryError);
}

TEST_F(ChangingBudget, TheProcessorTellsWhatIsFree) {
  EXPECT_GT(Cpu::free_memory(), 0);
  EXPECT_LE(Cpu::free_memory(), system_memory().capacity);
  const Session session(ClassifierNet{}, optimizer, {.global_batch = 256, .memory_budget = Budget::free_memory()});
  EXPECT_EQ(session.options().micro_batch, 256);
}

TEST_F(ChangingBudget, TheProcessorKnowsOfALimitOnAddresses) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit unlimited;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &unlimited), 0);
  const rlimit tight{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (32 << 20)), unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  const std::int64_t left = Cpu::free_memory();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &unlimited), 0);
  EXPECT_GT(left, 31 << 20);
  EXPECT_LE(left, 32 << 20);
}

TEST_F(ChangingBudget, WhatCannotBeKeptIsRefusedAndChangesNothing) {
  Session session(ClassifierNet{}, optimizer,
                  {.global_batch = 512, .micro_batch = 256, .open_blocks = OpenBlocks::as_needed});
  session.accumulate(std::span(x).first(256 * 9), std::span(y).first(256));
  const MemoryTable before = session.memory();
  const std::int64_t one_block = TrainingLayout<ClassifierNet, Adam>(128, 512, OpenBlocks::as_needed).table().total();
  const std::int64_t counted = allocations;
  session.set_budget(before.total());
  session.set_budget(Budget{});  // what it was given at first
  EXPECT_EQ(allocations, counted);
  for (const std::int64_t budget : {one_block - 1, std::int64_t{0}}) try {
      session.set_budget(budget);
      FAIL() << "a budget of " << budget << " was accepted";
    } catch (const MemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("needs " + std::to_string(one_block) + " B for 128 samples"),
                std::string::npos)
          << error.what();
    }
  EXPECT_EQ(session.memory().total(), before.total());
  EXPECT_EQ(session.position(), 256);
  session.set_budget(one_block);
  EXPECT_EQ(session.options().micro_batch, 128);
  EXPECT_EQ(session.accumulate(std::span(x).first(256 * 9), std::span(y).first(256)), 1);
  Session other(ClassifierNet{}, optimizer, {.global_batch = 512});
  for (int i = 0; i < 2; ++i) other.accumulate(std::span(x).first(256 * 9), std::span(y).first(256));
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
}

/// Wide inputs and narrow layers: unfinished blocks need more memory than the samples of a whole block.
struct Narrowing {
  nn::Linear hidden, output;
  constexpr explicit Narrowing(Scope s) : hidden(s / "hidden", 512, 32), output(s / "output", 32, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {square(sum(output(relu(hidden(x))), {1}) - y)}; }
};

TEST_F(ChangingBudget, WhatWouldFitWithTheOtherOpenBlocksIsSaid) {
  const auto refused = [](Session<ClassifierNet, Accumulate<Adam>>& session, std::int64_t budget) {
    return error_of<MemoryError>([&] { session.set_budget(budget); });
  };
  const auto need = [](std::int64_t micro_batch, OpenBlocks open) {
    return TrainingLayout<ClassifierNet, Adam>(micro_batch, 512, open).table().total();
  };
  Session whole(ClassifierNet{}, optimizer, {.global_batch = 512, .micro_batch = 256, .open_blocks = OpenBlocks::as_needed});
  const std::int64_t some = need(9, OpenBlocks::always);
  ASSERT_LT(some, need(128, OpenBlocks::as_needed));
  EXPECT_NE(refused(whole, some).find("no smaller micro-batch fits, but with OpenBlocks::always those of 9 do, in " +
                                      std::to_string(some) + " B"),
            std::string::npos);
  EXPECT_EQ(refused(whole, need(1, OpenBlocks::always) - 1).find("but with"), std::string::npos);
  EXPECT_NO_THROW(Session(ClassifierNet{}, optimizer, {.global_batch = 512, .micro_batch = 9, .memory_budget = some}));

  using Net = Compiled<Narrowing, Inputs<f32[512], f32>>;
  constexpr std::int64_t blocks = Net::training_memory(optimizer, 128).total();
  static_assert(blocks < Net::training_memory(optimizer, 1, {.open_blocks = OpenBlocks::always}).total());
  const SessionOptions always{.global_batch = 512, .memory_budget = blocks};
  const std::string text = error_of<MemoryError>([&] { Session(Net{}, optimizer, always); });
  EXPECT_NE(text.find("but with OpenBlocks::as_needed those of 128 do, in " + std::to_string(blocks) + " B"), std::string::npos)
      << text;
}

TEST_F(ChangingBudget, WhereTheSystemRefusesTheMicroBatchGetsSmaller) {
  Session session(ClassifierNet{}, optimizer, {.global_batch = 512});
  session.set_budget(session.memory().total() / 5);
  const std::int64_t small = session.options().micro_batch;
  ASSERT_LT(small, 128);
  failing_allocation = allocations.load();
  session.set_budget(Budget{});
  failing_allocation = none;
  EXPECT_GT(session.options().micro_batch, small);
  EXPECT_LT(session.options().micro_batch, 512);
  failing_allocation = allocations.load();
  fails_for_ever = true;
  EXPECT_THROW(session.set_budget(session.memory().total() / 2), MemoryError);
  EXPECT_THROW(session.accumulate(x, y), MemoryError);
  failing_allocation = none;
  fails_for_ever = false;
  EXPECT_EQ(session.accumulate(x, y), 1);  // the next call tried again
  Session other(ClassifierNet{}, optimizer, {.global_batch = 512});
  other.accumulate(x, y);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), other.parameter_bytes()), 0);
}

TEST_F(ChangingBudget, AStateSavedInsideAWindowGoesOnInAnotherBudget) {
  Drops whole(DroppedNet{}, optimizer, options);
  const std::string file = testing::TempDir() + "gradual_budget_" + std::to_string(::getpid());
  int parts = 0;
  whole.fit(data, {.epochs = 2, .progress = Progress::never, .on_micro_batch = [&](std::int64_t) {
                     if (++parts != 5) return;
                     EXPECT_GT(whole.session().position(), 0);
                     whole.save_state(file);
                   }});
  Drops resumed(DroppedNet{}, optimizer,
                {.global_batch = 256, .memory_budget = whole.memory().total() / 3, .open_blocks = OpenBlocks::always});
  resumed.load_state(file);
  std::remove(file.c_str());
  EXPECT_EQ(resumed.epoch(), 0);
  resumed.fit(data, {.epochs = 2, .progress = Progress::never});
  EXPECT_LT(resumed.session().options().micro_batch, whole.session().options().micro_batch);
  EXPECT_EQ(differing_bits(whole.session().parameter_bytes(), resumed.session().parameter_bytes()), 0);
}

TEST_F(ChangingBudget, AWindowOfCallsEndsOnlyWhereItsBlocksDo) {
  Session session(ClassifierNet{}, Accumulate{Adam{}, 2}, {.micro_batch = 128, .open_blocks = OpenBlocks::as_needed});
  EXPECT_EQ(session.accumulate(std::span(x).first(256 * 9), std::span(y).first(256)), 0);
  EXPECT_THROW(session.accumulate(std::span(x).first(100 * 9), std::span(y).first(100)), OptionError);
  EXPECT_EQ(session.accumulate(std::span(x).first(128 * 9), std::span(y).first(128)), 1);
  EXPECT_EQ(session.last_window().count(), 384);
}

TEST_F(ChangingBudget, WithoutLimitKeepsToWholeBlocksWhereOthersHaveNoMemory) {
  const SessionOptions whole{.global_batch = 200, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed};
  const std::int64_t budget = Session(ClassifierNet{}, Accumulate{Sgd{}, 2}, whole).memory().total();
  Session session(ClassifierNet{}, Accumulate{Sgd{}, 2},
                  {.global_batch = 200, .memory_budget = budget, .open_blocks = OpenBlocks::as_needed});
  EXPECT_EQ(session.options().micro_batch, 128);
  session.set_budget({});
  EXPECT_EQ(session.options().micro_batch, 128);
  EXPECT_EQ(session.accumulate(std::span(x).first(256 * 9), std::span(y).first(256)), 0);
}

TEST_F(ChangingBudget, DivisorsAreThoseOfTheWindow) {
  SessionOptions given{.global_batch = 100, .micro_batch = 30, .open_blocks = OpenBlocks::always};
  const std::int64_t room_for_30 = Session(ClassifierNet{}, Accumulate{Sgd{}}, given).memory().total();
  given.micro_batch = 48;
  given.prefer = Prefer::divisor;
  Session session(ClassifierNet{}, Accumulate{Sgd{}}, given);
  EXPECT_EQ(session.options().micro_batch, 48);
  session.set_budget(room_for_30);
  EXPECT_EQ(session.options().micro_batch, 25);
  session.set_budget({});
  EXPECT_EQ(session.options().micro_batch, 25) << "50 is more than was given";
}

}  // namespace changing_budget_test
