// Memory questions before anything runs: how much, the largest batch, the micro-batch for a budget; and the errors if it
// is not enough. Cases 12, 13 and 16 of the hard cases.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../models.hpp"

namespace memory_answers_test {

using namespace models;

constexpr auto adam = Accumulate{Adam{}};
constexpr std::int64_t absurd = std::int64_t{1} << 33;

/// Returns what one batch needs as a whole window.
constexpr std::int64_t need(std::int64_t batch) {
  return TrainingLayout<ClassifierNet, Adam>(batch, batch, OpenBlocks::as_needed).table().total();
}
/// Returns what micro-batches of a window of 512 need.
constexpr std::int64_t need_in_window(std::int64_t batch) {
  return TrainingLayout<ClassifierNet, Adam>(batch, 512, OpenBlocks::as_needed).table().total();
}

constexpr bool largest_batches_are_proven() {
  for (std::int64_t batch : {1, 2, 31, 64, 100, 4096, 1 << 20})
    for (std::int64_t less : {0, 1}) {
      const std::int64_t budget = need(batch) - less;
      if (batch == 1 && less == 1) continue;
      const LargestBatch found = ClassifierNet::largest_batch(adam, budget);
      if (less == 1 ? found.batch >= batch : found.batch < batch) return false;
      if (found.bytes != need(found.batch) || found.bytes_for_one_more != need(found.batch + 1)) return false;
      if (found.bytes > budget || found.bytes_for_one_more <= budget) return false;
    }
  return true;
}
static_assert(largest_batches_are_proven());
TEST(MemoryAnswers, TheLargestBatchFitsAndOneMoreDoesNot) {  // case 13
  EXPECT_TRUE(largest_batches_are_proven());
  const LargestBatch most = ClassifierNet::largest_batch(adam, need(100) + 100);
  const auto session = [&](std::int64_t batch) {
    return Session(
        ClassifierNet{}, adam,
        {.global_batch = batch, .micro_batch = batch, .memory_budget = need(100) + 100, .open_blocks = OpenBlocks::as_needed});
  };
  const auto samples = static_cast<std::size_t>(most.batch);
  EXPECT_EQ(session(most.batch).accumulate(numbers(samples * 9), labels(samples, 5)), 1);
  EXPECT_THROW(session(most.batch + 1), MemoryError);
}

static_assert(ClassifierNet::micro_batch(adam, 512, need_in_window(512)) == 512);
static_assert(ClassifierNet::micro_batch(adam, 512, need_in_window(512) - 1) == 384);
static_assert(ClassifierNet::micro_batch(adam, 512, need_in_window(256) - 1) == 128);
static_assert(ClassifierNet::micro_batch(adam, 512, need_in_window(1)) == 1);
static_assert(ClassifierNet::micro_batch(adam, 512, std::uint64_t{1} << 63) == 512);
static_assert(ClassifierNet::micro_batch(adam, 500, need_in_window(300), Prefer::power_of_two) == 256);
static_assert(ClassifierNet::micro_batch(adam, 500, need_in_window(300), Prefer::divisor) == 250);
static_assert(ClassifierNet::micro_batch(adam, 509, need_in_window(300), Prefer::divisor) == 1);
static_assert(ClassifierNet::training_memory(adam, 128, {.gather = true}).inputs > 0);
static_assert(ClassifierNet::training_memory(adam, 7, {.open_blocks = OpenBlocks::always}).open_blocks > 0);
static_assert(ClassifierNet::inference_memory(3).total() < ClassifierNet::training_memory(adam, 3).total());

TEST(MemoryAnswers, AMicroBatchIsTheLargestOfItsKind) {
  const std::int64_t block = session_tables<ClassifierNet, Adam>.block_samples;
  for (std::int64_t budget = need_in_window(1); budget < need_in_window(512); budget += 997) {
    std::int64_t multiple = 0, smaller = 0, power = 0, divisor = 0;
    for (std::int64_t b = 1; b <= 512; ++b) {
      if (need_in_window(b) > budget) continue;
      if (b % block == 0) multiple = b;
      if (b < block) smaller = b;
      if ((b & (b - 1)) == 0) power = b;
      if (512 % b == 0) divisor = b;
    }
    EXPECT_EQ(ClassifierNet::micro_batch(adam, 512, budget), multiple > 0 ? multiple : smaller);
    EXPECT_EQ(ClassifierNet::micro_batch(adam, 512, budget, Prefer::power_of_two), power);
    EXPECT_EQ(ClassifierNet::micro_batch(adam, 512, budget, Prefer::divisor), divisor);
  }
}
void expect_in(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(MemoryAnswers, BudgetsThatAreTooSmallAreRefusedWithTheNumbers) {  // case 12
  for (const std::int64_t budget : {need(1) - 1, std::int64_t{0}}) {
    const std::string given =
        "needs " + std::to_string(need(1)) + " B for 1 sample at a time, the budget is " + std::to_string(budget);
    expect_in(error_of<MemoryError>([&] { ClassifierNet::largest_batch(adam, budget); }), {given, "no smaller"});
  }
  for (const std::int64_t budget : {need_in_window(1) - 1, std::int64_t{0}})
    expect_in(error_of<MemoryError>([&] { ClassifierNet::micro_batch(adam, 512, budget); }),
              {std::to_string(need_in_window(1)), std::to_string(budget)});
  const LargestBatch most = ClassifierNet::largest_batch(adam, std::uint64_t{1} << 63);
  EXPECT_GT(most.batch, std::int64_t{1} << 50);
  EXPECT_EQ(error_of<ShapeError>([&] { ClassifierNet::training_memory(adam, most.batch + 1); }),
            "a batch of " + std::to_string(most.batch + 1) +
                " samples is too large; the largest possible is of " + std::to_string(most.batch));
  EXPECT_EQ(error_of<OptionError>([&] { ClassifierNet::training_memory(adam, 0); }),
            "a batch of 0: it needs at least one sample");
  EXPECT_EQ(error_of<OptionError>([&] { ClassifierNet::inference_memory(-1); }), "a batch of -1: it needs at least one sample");
  EXPECT_EQ(error_of<OptionError>([&] { ClassifierNet::micro_batch(adam, 0, 1 << 20); }), "a global batch of 0");
}

TEST(MemoryAnswers, SessionsAndTrainersKeepBudgetsOfAnySize) {  // case 12
  const auto check = [](std::int64_t samples, auto make) {
    const std::int64_t least = make(samples, Budget{}).memory().total();
    for (const Budget budget : {Budget(least), Budget(std::uint64_t{1} << 63)})
      EXPECT_EQ(make(samples, budget).memory().total(), least);
    for (const std::int64_t given : {samples, std::int64_t{0}})  // a given micro-batch, and one that memory decides
      for (const std::int64_t budget : {given == 0 ? make(1, Budget{}).memory().total() - 1 : least - 1, std::int64_t{0}}) {
        const std::int64_t needed = given == 0 ? make(1, Budget{}).memory().total() : least;
        expect_in(error_of<MemoryError>([&] { make(given, budget); }),
                  {"training needs " + std::to_string(needed) + " B for " + (given == 0 ? "1 sample" : "64 samples") +
                   " at a time, the budget is " + std::to_string(budget) + " B; " +
                   (given == 0 || budget == 0 ? "no smaller micro-batch fits" : "micro-batches of 63 would fit")});
      }
  };
  check(64, [](std::int64_t samples, Budget budget) {
    return Session(ClassifierNet{}, adam, {.global_batch = 100, .micro_batch = samples, .memory_budget = budget});
  });
  check(64, [](std::int64_t samples, Budget budget) {
    return Trainer(ClassifierNet{}, adam, {.global_batch = 100, .micro_batch = samples, .memory_budget = budget});
  });
}

TEST(MemoryAnswers, WhatDoesNotFitIsExplained) {
  const SessionOptions options{
      .global_batch = 512, .micro_batch = 512, .memory_budget = 64 * 1024, .gather = true, .threads = 2};
  const std::string text = error_of<MemoryError>([&] { Session session(ClassifierNet{}, adam, options); });
  const TrainingLayout<ClassifierNet, Adam> layout(512, 512, OpenBlocks::always, 2);
  const MemoryTable table = layout.table(true);
  const std::int64_t fitting =
      Session(ClassifierNet{}, adam, {.global_batch = 512, .memory_budget = 64 * 1024, .gather = true, .threads = 2})
          .options()
          .micro_batch;
  ASSERT_LT(fitting, 512);
  expect_in(text,
            {std::to_string(table.total()), "the budget is 65536 B",
             "micro-batches of " + std::to_string(fitting) + " would fit", "this machine has ", " B, of which others hold ",
             " are free\nneeded: parameters " + std::to_string(table.parameters) + " B, gradients " +
                 std::to_string(table.gradients) + " B, open blocks " + std::to_string(table.open_blocks) + " B, ",
             " B, workspace " + std::to_string(table.workspace) + " B\n",
             "largest buffers:\n  34816 B: matmul in layer 'hidden'\n  ", "18432 B: input 0",
             std::to_string(table.total() -
                            TrainingLayout<ClassifierNet, Adam>(fitting, 512, OpenBlocks::always, 2).table(true).total()) +
                 " B less: micro-batches of " + std::to_string(fitting),
             "B less: micro-batches of whole blocks of 128 samples",
             std::to_string(table.optimizer_state) + " B less: an optimizer without state (2 of ",
             std::to_string(table.workspace / 2) + " B less: one thread",
             std::to_string(table.inputs) + " B less: samples read where they lie"});
  EXPECT_LT(text.size(), 1990u) << "cut off";
}

TEST(MemoryAnswers, SmallerMicroBatchesAreCountedWithTheOpenBlocksThatTheyNeed) {
  SessionOptions options{.global_batch = 512, .memory_budget = 48 * 1024, .open_blocks = OpenBlocks::as_needed, .gather = true};
  const Session fits(ClassifierNet{}, adam, options);
  ASSERT_GT(fits.memory().open_blocks, 0);
  options.micro_batch = 512;
  const std::int64_t needed = TrainingLayout<ClassifierNet, Adam>(512, 512, OpenBlocks::as_needed).table(true).total();
  expect_in(error_of<MemoryError>([&] { Session session(ClassifierNet{}, adam, options); }),
            {std::to_string(needed - fits.memory().total()) + " B less: micro-batches of " +
             std::to_string(fits.options().micro_batch) + "\n"});
}

TEST(MemoryAnswers, SizesThatCannotBeCountedAreShapeErrors) {  // case 16
  Tape tape;
  const nn::Linear layer(Scope(tape.parameters) / "wide", absurd, absurd);
  Var x = input(tape, Shape::per_sample({absurd}), DType::f32);
  EXPECT_EQ(error_of<ShapeError>([&] { layer(x); }),
            "input: a value of shape [8589934592, 8589934592] is too large or has a negative extent");
  expect_in(error_of<ShapeError>([&] {
              input(tape, Shape::per_sample({absurd, absurd}), DType::f32);
            }),
            {"[batch, 8589934592, 8589934592]", "is too large or has a negative extent"});
  expect_in(error_of<ShapeError>([&] {
              broadcast(input(tape, {}, DType::f32), Shape{absurd, absurd});
            }),
            {"broadcast: "});
  EXPECT_THROW(
      Session(ClassifierNet{}, adam, {.global_batch = std::int64_t{1} << 62, .micro_batch = std::int64_t{1} << 62}),
      ShapeError);
  EXPECT_THROW(Trainer(ClassifierNet{}, adam, {.global_batch = std::int64_t{1} << 62}), ShapeError);
  Session small(ClassifierNet{}, adam, {.global_batch = std::int64_t{1} << 62, .memory_budget = 1 << 20});
  EXPECT_GE(small.options().micro_batch, 1024);
}

}  // namespace memory_answers_test
