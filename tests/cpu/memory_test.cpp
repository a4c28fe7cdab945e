// Memory is a fact: planned bytes are allocated bytes, all of them are used, and nothing is allocated afterwards.
#include <gtest/gtest.h>

#include "../count_allocations.hpp"
#include "../models.hpp"

using namespace models;

namespace {

TEST(Memory, NothingIsAllocatedBetweenConstructionAndTheHundredthStep) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  Session session(ClassifierNet{}, Accumulate{ClipByGlobalNorm{Adam{}}}, {.global_batch = 64, .micro_batch = 20});
  const std::int64_t before = allocations;
  while (session.step_count() < 100) session.accumulate(x, y);
  session.evaluate(x, y);
  EXPECT_EQ(allocations - before, 0);
}

/// Plans and runs one configuration; what is planned must be allocated, in two blocks, and used to the last line.
template <class Net, class Optimizer, class... V>
void expect_exact(const Optimizer& optimizer, std::int64_t window, std::int64_t micro_batch, OpenBlocks open,
                  int threads, const V&... data) {
  const TrainingLayout<Net, RuleOf<Optimizer>> layout(micro_batch, window, open, threads);
  const std::int64_t before = block_bytes;
  Session session(Net{}, optimizer,
                  {.global_batch = window, .micro_batch = micro_batch, .open_blocks = open, .threads = threads});
  EXPECT_EQ(block_bytes - before, layout.table().total());
  EXPECT_EQ(session.memory().total(), layout.table().total());
  EXPECT_EQ(session.memory().persistent() + static_cast<std::int64_t>(session.transient_bytes().size()),
            session.memory().total());
  std::memset(session.transient_bytes().data(), 0xa5,
              session.transient_bytes().size());  // whatever is read unwritten shows
  const std::size_t samples = static_cast<std::size_t>(window);
  session.accumulate(std::span(data).first(data.size() / 1024 * samples)...);
  EXPECT_EQ(session.step_count(), 1);
  std::size_t high_water = session.transient_bytes().size() - static_cast<std::size_t>(session.memory().workspace);
  while (high_water > 0 && session.transient_bytes()[high_water - 1] == std::byte{0xa5}) --high_water;
  const auto lines = [](std::int64_t bytes) { return (bytes + 63) / 64; };
  EXPECT_EQ(lines(static_cast<std::int64_t>(high_water)),
            lines(session.memory().transient() - session.memory().workspace));
  for (float p : session.parameters().values()) EXPECT_TRUE(p == p);
}

template <class Optimizer>
void expect_exact_in_all_nets(const Optimizer& optimizer) {
  const auto x9 = numbers(1024 * 9), x4 = numbers(1024 * 4), y3 = numbers(1024 * 3, 2), x18 = numbers(1024 * 18),
             y6 = numbers(1024 * 6, 2);
  const std::vector<float> weights(1024, 0.5f);
  const auto y = labels(1024, 5);
  for (const auto& [window, micro, open, threads] : {std::tuple{512, 512, OpenBlocks::as_needed, 1},
                                                     {512, 128, OpenBlocks::as_needed, 2},
                                                     {512, 64, OpenBlocks::as_needed, 1},
                                                     {300, 7, OpenBlocks::always, 3}}) {
    expect_exact<ClassifierNet>(optimizer, window, micro, open, threads, x9, y);
    expect_exact<WeightedNet>(optimizer, window, micro, open, threads, x4, y3, weights);
    expect_exact<SequenceNet>(optimizer, window, micro, open, threads, x18, y6);
  }
}

TEST(Memory, PlannedBytesAreTheHighWaterMark) {  // case 12: 3 nets × 4 windows × 3 optimizers
  expect_exact_in_all_nets(Accumulate{Sgd{}});
  expect_exact_in_all_nets(Accumulate{Adam{}});
  expect_exact_in_all_nets(Accumulate{ClipByGlobalNorm{AdamW{}}});
}

TEST(Memory, InferenceAllocatesWhatWasPlanned) {
  const std::vector<float> parameters(static_cast<std::size_t>(ClassifierNet::parameter_elements));
  for (std::int64_t batch : {1, 3, 64, 1000}) {
    const std::int64_t before = block_bytes;
    Inference<ClassifierNet> inference(parameters, batch);
    EXPECT_EQ(block_bytes - before, ClassifierNet::inference_memory(batch).total());
  }
}

TEST(Memory, AlignedMicroBatchesNeedNoOpenBlocksAndRefuseOtherSizes) {
  Session session(ClassifierNet{}, Accumulate{Sgd{}},
                  {.global_batch = 512, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed});
  const auto x = numbers(200 * 9);
  const auto y = labels(200, 5);
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  EXPECT_THROW(session.accumulate(x, y), OptionError);
  EXPECT_EQ(session.position(), 0);
  EXPECT_EQ(differing_bits(before, session.parameter_bytes()), 0);
}

}  // namespace
