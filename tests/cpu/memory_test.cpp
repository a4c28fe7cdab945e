// Memory is a fact: planned bytes are allocated bytes, all of them are used, and nothing is allocated afterwards.
#include <gtest/gtest.h>

#include "../count_allocations.hpp"
#include "../error_of.hpp"
#include "../long_rule.hpp"
#include "../models.hpp"

namespace memory_test {

using namespace models;

/// Returns the result of `take`, and expects its allocation to be counted.
template <class F>
void* counts(const char* way, F take) {
  const std::int64_t before = system_allocations;
  void* volatile p = take();
  EXPECT_GT(system_allocations - before, 0) << way;
  return p;
}

TEST(Memory, EveryAllocationIsCounted) {
  std::free(counts("malloc", [] { return std::malloc(100); }));
  std::free(counts("calloc", [] { return std::calloc(10, 10); }));
  std::free(counts("realloc", [] { return std::realloc(nullptr, 100); }));
  std::free(counts("aligned_alloc", [] { return std::aligned_alloc(64, 128); }));
  std::free(counts("posix_memalign", [] {
    void* p = nullptr;
    return posix_memalign(&p, 64, 128) == 0 ? p : nullptr;
  }));
  ::operator delete(counts("operator new", [] { return ::operator new(100); }));
}

TEST(Memory, MappingsAreCountedWhereNoSanitizerMakesThem) {
  if (!counts_mmap) GTEST_SKIP() << "mmap is not counted under this sanitizer";
  munmap(counts("mmap", [] { return mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }), 4096);
}

TEST(Memory, NothingIsAllocatedBetweenConstructionAndTheHundredthStep) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  const Dataset data(x, y);
  for (const int threads : {1, counts_mmap ? 3 : 1}) {  // a sanitizer's threads take memory of their own as they start
    Session session(ClassifierNet{}, Accumulate{ClipByGlobalNorm{Adam{}}},
                    {.global_batch = 64, .micro_batch = 20, .threads = threads});
    const std::int64_t before = system_allocations;
    while (session.step_count() < 50) session.accumulate(x, y);
    while (session.step_count() < 100)
      for (auto [a, b] : data.batches(7)) session.accumulate(a, b);
    session.evaluate(x, y);
    EXPECT_EQ(system_allocations - before, 0) << threads << " threads";
  }
}

TEST(Memory, NothingIsAllocatedInsideATrainersEpoch) {
  const auto x = numbers(640 * 9);
  const auto y = labels(640, 5);
  const Dataset data(x, y);
  Trainer trainer(ClassifierNet{}, Accumulate{ClipByGlobalNorm{Adam{}}},
                  {.global_batch = 64, .micro_batch = 20, .threads = counts_mmap ? 2 : 1});
  std::int64_t first = 0, last = 0;
  trainer.fit(data, {.epochs = 1, .progress = Progress::never, .on_step = [&](std::int64_t step, const Averages&) {
                       (step == 1 ? first : last) = system_allocations;
                     }});
  EXPECT_EQ(trainer.session().step_count(), 10);
  EXPECT_EQ(last - first, 0);
}

constexpr std::byte poison{0xa5};  // reveals reads of memory that was not written
constexpr std::size_t line = 64;

std::size_t written_lines(std::span<const std::byte> memory) {
  std::size_t end = memory.size();
  while (end > 0 && memory[end - 1] == poison) --end;
  return (end + line - 1) / line;
}
std::int64_t unwritten_bytes(std::span<const std::byte> memory) {
  std::int64_t bytes = 0;
  for (std::size_t at = 0; at < memory.size(); at += line)
    if (written_lines(memory.subspan(at, line)) == 0) bytes += line;
  return bytes;
}

/// Plans and runs one configuration: the planned bytes must be allocated, in two blocks, and used to the last line, and their
/// previous contents must not matter. `Fills`: also all workspace and memory for open blocks, of which small stacks and
/// images of more than a block leave some unused.
template <class Net, bool Fills = true, class Optimizer, class... V>
void expect_exact(const Optimizer& optimizer, std::int64_t window, std::int64_t micro_batch, OpenBlocks open,
                  int threads, const V&... data) {
  using Layout = TrainingLayout<Net, RuleOf<Optimizer>>;
  constexpr const SessionTables& tables = session_tables<Net, RuleOf<Optimizer>>;
  const Layout layout(micro_batch, window, open, threads);
  const MemoryTable planned = layout.table();
  const std::int64_t before = block_bytes, heap_before = live_bytes;
  const SessionOptions options{.global_batch = window, .micro_batch = micro_batch, .open_blocks = open, .threads = threads};
  Session session(Net{}, optimizer, options);
  EXPECT_EQ(block_bytes - before, planned.total());
  EXPECT_LE(live_bytes - heap_before - planned.total(), session.heap_bytes_beside_plan(threads));
  EXPECT_EQ(session.memory().total(), planned.total());
  const std::span<std::byte> transient = session.transient_bytes();
  EXPECT_EQ(planned.persistent() + static_cast<std::int64_t>(transient.size()), planned.total());

  // Parameters and states have initial values; everything else in the persistent block is written before it is read.
  std::byte* const persistent = const_cast<std::byte*>(session.parameter_bytes().data());
  const std::span gradients(persistent + tables.array_offset(1), persistent + tables.array_offset(2)),
      rest(persistent + tables.array_offset(2 + tables.states), persistent + planned.persistent());
  const std::span blocks =
      rest.first(rest.size() - aligned(tables.max_scalars * tables.sum_bytes));  // followed by scalars, as many as there are
  for (const std::span<std::byte> memory : {transient, gradients, rest}) std::ranges::fill(memory, poison);
  const auto samples = static_cast<std::size_t>(window);
  session.accumulate(std::span(data).first(data.size() / 1024 * samples)...);
  EXPECT_EQ(session.step_count(), 1);
  const auto workspace = static_cast<std::size_t>(planned.workspace);
  const std::span temporaries = transient.first(transient.size() - workspace);
  EXPECT_EQ(written_lines(temporaries), (temporaries.size() + line - 1) / line);
  // Kernels this small run on one thread; the last panel may be a line narrower than its room.
  EXPECT_LE(written_lines(transient.last(workspace)), workspace / line / static_cast<std::size_t>(threads));
  if constexpr (Fills) {
    EXPECT_GE(written_lines(transient.last(workspace)) + 1, workspace / line / static_cast<std::size_t>(threads));
  }
  EXPECT_EQ(unwritten_bytes(gradients), 0);
  // All open blocks have memory if any sum needs one.
  EXPECT_LE(unwritten_bytes(blocks), Fills && open == OpenBlocks::always ? 0 : planned.open_blocks);

  Session clean(Net{}, optimizer, options);
  clean.accumulate(std::span(data).first(data.size() / 1024 * samples)...);
  EXPECT_EQ(differing_bits(clean.parameter_bytes(), session.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(clean.optimizer_state_bytes(), session.optimizer_state_bytes()), 0);
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

/// A regression in double, through tanh.
struct Smooth {
  nn::Linear hidden, output;
  constexpr explicit Smooth(Scope s) : hidden(s / "hidden", 5, 11), output(s / "output", 11, 2) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(tanh(hidden(x))), y)}; }
};

TEST(Memory, PlannedBytesAreTheHighWaterMarkOfOtherKernelsAndTypes) {  // and of 4 nets × 2 windows
  const auto images = numbers(1024 * 2 * 16 * 12);
  const auto narrow = numbers_in<bf16>(1024 * 16);
  const auto x = numbers_in<double>(1024 * 5), y = numbers_in<double>(1024 * 2, 2);
  const auto token = labels(1024 * 7, 11), next = labels(1024 * 7, 10), row = labels(1024, 7), label = labels(1024, 3);
  const auto classes = labels(1024, 5);
  constexpr auto optimizer = Accumulate{Adam{}};
  for (const auto& [window, micro, open, threads] :
       {std::tuple{128, 128, OpenBlocks::as_needed, 1}, {61, 2, OpenBlocks::always, 3}}) {
    expect_exact<ConvolutionalNet, false>(optimizer, window, micro, open, threads, images, classes);
    expect_exact<TokensNet, false>(optimizer, window, micro, open, threads, token, next);
    expect_exact<NarrowNet<bf16>, false>(optimizer, window, micro, open, threads, narrow, row, label);
    expect_exact<Compiled<Smooth, Inputs<f64[5], f64[2]>>>(optimizer, window, micro, open, threads, x, y);
  }
  // An update that needs more memory than the activations.
  expect_exact<ClassifierNet>(Accumulate{LongRule{}}, 12, 3, OpenBlocks::as_needed, 1, numbers(1024 * 9), classes);
}

TEST(Memory, PlansOfWhatNoSessionCouldHaveAreRefused) {
  const auto planned = [](const Planning& planning) {
    return error_of<OptionError>([&] { ClassifierNet::training_memory(Accumulate{Sgd{}}, 4, planning); });
  };
  EXPECT_EQ(planned({.threads = -3}), "Planning: -3 threads; 1 to 1024 are possible");
  EXPECT_EQ(planned({.frozen = ClassifierNet::parameter_elements}), "accepted");
  const std::string all = std::to_string(ClassifierNet::parameter_elements);
  EXPECT_EQ(planned({.frozen = ClassifierNet::parameter_elements + 1}),
            "Planning: " + std::to_string(ClassifierNet::parameter_elements + 1) + " of " + all + " parameter elements frozen");
  EXPECT_EQ(planned({.extras = {.noise_batch = -2}}), "Planning: a noise_batch of -2 samples");
}

TEST(Memory, InferenceAllocatesWhatWasPlannedAndNothingWhileItRuns) {
  const std::vector<float> parameters(static_cast<std::size_t>(ClassifierNet::parameter_elements));
  const auto x = numbers(70 * 9);
  std::vector<float> scores(70 * 5);
  for (const auto& [batch, threads] : {std::pair{1, 1}, {3, 1}, {64, 1}, {1000, 1}, {1000, 3}}) {
    const std::int64_t before = block_bytes;
    Inference<ClassifierNet> inference(parameters, batch, threads);
    EXPECT_EQ(block_bytes - before, ClassifierNet::inference_memory(batch, threads).total());
    const std::int64_t alone = system_allocations;
    for (int i = 0; i < 10; ++i) inference.set_parameters(parameters), inference(x, scores);
    EXPECT_EQ(system_allocations - alone, 0);
    const Inference<ClassifierNet> copy = inference;
    const std::int64_t ready = system_allocations;
    for (int i = 0; i < 10; ++i) inference(x, scores), inference = copy;
    EXPECT_EQ(system_allocations - ready, 0);
  }
}

TEST(Memory, ALoopThatLearnsAllocatesNothing) {
  const auto x = numbers(9);
  const auto y = labels(1, 5);
  std::vector<float> scores(5);
  Session learner(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 16, .micro_batch = 1, .freeze = {"hidden/*"}});
  Inference<ClassifierNet> act(learner.parameters());
  const std::int64_t before = system_allocations;
  int steps = 0;
  for (int tick = 0; tick < 40; ++tick) {
    act(x, scores);
    if (learner.accumulate(x, y) > 0) act.set_parameters(learner.parameters()), ++steps;
  }
  steps += learner.flush();
  EXPECT_EQ(system_allocations - before, 0);
  EXPECT_EQ(steps, 3);
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

}  // namespace memory_test
