// The rest of training on the GPU or its host twin: the trainer, saved states and inference, to the processor's bits.
#include <gradual/cuda.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "cuda_test.hpp"

namespace trainer_test {

using namespace models;

using OnCpu = DroppedNet;
using OnCuda = Compiled<Dropped, Inputs<f32[9], i32>, Cuda>;
using Optimizer = Accumulate<ClipByGlobalNorm<Adam>>;
constexpr Optimizer optimizer = Accumulate{ClipByGlobalNorm{Adam{.learning_rate = schedule::cosine(0.01, 8)}, 0.5}};
constexpr std::size_t samples = 150;

class CudaTrainer : public CudaTest {
 protected:
  std::vector<float> x = numbers(samples * 9);
  std::vector<std::int32_t> y = labels(samples, 5);
  std::string file = (std::filesystem::temp_directory_path() / ("gradual_cuda_" + std::to_string(::getpid()))).string();
  ~CudaTrainer() override { std::filesystem::remove(file); }

  template <class Net>
  Trainer<Net, Optimizer> trainer(std::int64_t micro_batch) {
    return {Net{}, optimizer, {.global_batch = 64, .micro_batch = micro_batch, .seed = 2}};
  }
  template <class A, class B>
  void expect_equal_bits(A& a, B& b) {
    EXPECT_EQ(differing_bits(a.session().parameter_bytes(), b.session().parameter_bytes()), 0);
    EXPECT_EQ(differing_bits(a.session().optimizer_state_bytes(), b.session().optimizer_state_bytes()), 0);
  }
};

TEST_P(CudaTrainer, FitsAndEvaluates) {
  auto cpu = trainer<OnCpu>(64);
  auto cuda = trainer<OnCuda>(23);
  const Dataset data(x, y);
  const History expected = cpu.fit(data, {.epochs = 2, .validate = data}),
                got = cuda.fit(data, {.epochs = 2, .validate = data});
  expect_equal_bits(cpu, cuda);
  EXPECT_EQ(expected.back().training.loss(), got.back().training.loss());
  EXPECT_EQ(expected.back().validation.loss(), got.back().validation.loss());
}

TEST_P(CudaTrainer, EvaluatesWithWhatTrainingDrops) {
  Session cpu(OnCpu{}, optimizer, {.global_batch = 64, .seed = 2, .evaluate_drawing = true});
  Session cuda(OnCuda{}, optimizer, {.global_batch = 64, .micro_batch = 23, .seed = 2, .evaluate_drawing = true});
  cpu.accumulate(x, y), cuda.accumulate(x, y);
  const double drawn = cpu.evaluate(x, y).loss();
  EXPECT_EQ(drawn, cuda.evaluate(x, y).loss());
  cpu.accumulate(x, y), cuda.accumulate(x, y);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
}

TEST_P(CudaTrainer, LearnsSamplesThatAreMade) {
  auto cpu = trainer<OnCpu>(64);
  auto cuda = trainer<OnCuda>(23);
  const Dataset data(x, y);
  int calls = 0;
  const auto made = Dataset<float, std::int32_t>::made(samples, {9, 1}, [&](auto rows, auto in, auto of) {
    if (++calls == 3) throw std::runtime_error("not now");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      std::copy_n(&x[9 * row], 9, &in[9 * i]);
      of[i] = y[row];
    }
  });
  const History expected = cpu.fit(data, {.epochs = 2, .validate = data});
  EXPECT_THROW(cuda.fit(made), std::runtime_error);
  const History got = cuda.fit(made, {.epochs = 2, .validate = made});
  expect_equal_bits(cpu, cuda);
  EXPECT_EQ(expected.back().validation.loss(), got.back().validation.loss());
  EXPECT_EQ(cpu.losses(data), cuda.losses(made));
}

TEST_P(CudaTrainer, LearnsWhatItsWeightsDraw) {  // the same sample several times in a window, with dropout
  auto cpu = trainer<OnCpu>(64);
  auto cuda = trainer<OnCuda>(23);
  const Dataset data(x, y);
  std::vector<double> weights(samples);
  for (std::size_t i = 0; i < samples; ++i) weights[i] = i % 8 == 0 ? 2 : 0.125;
  cpu.fit(data, {.epochs = 2, .draw = weights});
  cuda.fit(data, {.epochs = 2, .draw = weights});
  expect_equal_bits(cpu, cuda);
}

TEST_P(CudaTrainer, EndsWithTheBestParameters) {
  auto cpu = trainer<OnCpu>(64);
  auto cuda = trainer<OnCuda>(64);
  const Dataset data(x, y);
  const History expected = cpu.fit(data, {.epochs = 4, .validate = data, .patience = 1});
  EXPECT_EQ(cuda.fit(data, {.epochs = 4, .validate = data, .patience = 1}).size(), expected.size());
  expect_equal_bits(cpu, cuda);
}

TEST_P(CudaTrainer, GoesOnWhereTheProcessorStopped) {
  auto cpu = trainer<OnCpu>(64);
  const Dataset data(x, y);
  cpu.fit(data, {.epochs = 1});
  cpu.save_state(file);
  cpu.fit(data, {.epochs = 1});
  auto cuda = trainer<OnCuda>(23);
  cuda.load_state(file);
  cuda.fit(data, {.epochs = 1});
  expect_equal_bits(cpu, cuda);

  cuda.save(file);
  cpu.load(file);
  const Inference<OnCuda> first(load(file), 40);
  Inference<OnCuda> on_cuda(first);  // before the first has computed anything
  Inference<OnCpu> on_cpu(cuda.parameters());
  std::vector<float> a(samples * 5), b(samples * 5);
  on_cuda(x, a);
  on_cpu(x, b);
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(a)), std::as_bytes(std::span(b))), 0);
}

/// A model whose prediction reads two inputs of two types.
struct Beside {
  Parameter weight;
  constexpr explicit Beside(Scope s) : weight(s.parameter("weight", Shape{5, 9}, init::uniform(1))) {}
  constexpr Var predict(Var x, Var row) const { return x * gather(weight, row); }
  constexpr Loss loss(Var x, Var row) const { return Loss(sum(square(predict(x, row)), {1})); }
};

TEST_P(CudaTrainer, PredictsByOtherParametersWhichCopiesDoNot) {
  const auto rows = std::span(x).first(40 * 9);
  const std::vector<float> some(OnCpu::parameter_elements, 0.25f), others(OnCpu::parameter_elements, 0.5f);
  Inference<OnCuda> first(some, 40), copy(first);
  std::vector<float> before(40 * 5), after(before), got(before);
  Inference<OnCpu>(some, 40)(rows, before);
  Inference<OnCpu>(others, 40)(rows, after);
  for (int i = 0; i < 3; ++i) first(rows, got), copy(rows, got);  // recorded, and replayed
  first.set_parameters(others);
  first(rows, got);
  EXPECT_EQ(got, after);
  copy(rows, got);
  EXPECT_EQ(got, before);
  copy.set_parameters(others);
  copy(rows, got);
  EXPECT_EQ(got, after);
  copy.set_parameters(some);
  copy(rows, got);
  EXPECT_EQ(got, before);
  for (int i = 0; i < 2; ++i) {
    copy.set_parameters(first);
    copy(rows, got);
    EXPECT_EQ(got, after);
  }
}

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(CudaTrainer, TakesMemoryOnItsOwnDeviceWhicheverIsCurrent) {
  const std::vector<float> some(OnCpu::parameter_elements, 0.25f);
  std::optional<gradual::cuda::OnDevice> there(1);
  Inference<OnCuda> inference(some, 40), copy(inference);
  const Inference<OnCuda> larger(some, 80);
  const SessionOptions options{.global_batch = 64, .memory_budget = 256_KiB};
  Session session(OnCuda{}, optimizer, options);
  there.reset();
  const auto& taken = gradual::cuda::twin_bytes_taken;
  const std::int64_t here = taken[0];
  std::int64_t last = taken[1];
  const auto expect_taken_there = [&](const char* what) {
    EXPECT_EQ(taken[0], here) << what;
    EXPECT_GT(taken[1], last) << what;
    last = taken[1];
  };
  copy.set_parameters(some);
  expect_taken_there("set_parameters");
  copy = larger;
  expect_taken_there("assignment");
  session.set_budget(session.memory().total() - 1);
  expect_taken_there("set_budget");
}
#endif

TEST_P(CudaTrainer, PredictsInsideAWindowAndGoesOn) {
  auto cpu = trainer<OnCpu>(64);
  auto cuda = trainer<OnCuda>(23);
  const Dataset data(x, y);
  int asked = 0;
  cpu.fit(data, {.epochs = 2});
  cuda.fit(data, {.epochs = 2, .on_micro_batch = [&](std::int64_t) {
                    if (++asked % 2 == 0) cuda.predict(x);
                  }});
  EXPECT_GT(asked, 8);
  expect_equal_bits(cpu, cuda);
  EXPECT_EQ(cuda.predict(x), cpu.predict(x));
}

TEST_P(CudaTrainer, PredictsFromSeveralInputs) {
  const std::vector<float> weight = numbers(45, 3);
  Inference<Compiled<Beside, Inputs<f32[9], i32>>> on_cpu(weight, 40);
  Inference<Compiled<Beside, Inputs<f32[9], i32>, Cuda>> on_cuda(weight, 40);
  std::vector<float> a(samples * 9), b(samples * 9);
  on_cpu(x, y, a);
  on_cuda(x, y, b);
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(a)), std::as_bytes(std::span(b))), 0);
}

/// The recording of one draw is replayed for others.
TEST_P(CudaTrainer, PredictsWhatIsDroppedByTheDraw) {
  const std::vector<float> weights = numbers(DroppedNet::parameter_elements, 5);
  Inference<Drawing<DroppedNet>> on_cpu(weights, samples);
  Inference<Drawing<On<DroppedNet, Cuda>>> on_cuda(weights, 40);
  std::vector<float> a(samples * 5), b(samples * 5);
  for (const std::uint64_t round : {0u, 1u, 7u}) {
    on_cpu({.seed = 3, .round = round}, x, a);
    on_cuda({.seed = 3, .round = round}, x, b);
    EXPECT_EQ(a, b) << round;
  }
}

TEST_P(CudaTrainer, GoesOnInsideAWindow) {
  const SessionOptions options{.global_batch = static_cast<std::int64_t>(samples), .micro_batch = 50, .seed = 4};
  Session first(OnCuda{}, optimizer, options), second(OnCuda{}, optimizer, options);
  const auto part = [&](std::size_t from, std::size_t count) {
    return std::pair(std::span<const float>(x).subspan(from * 9, count * 9),
                     std::span<const std::int32_t>(y).subspan(from, count));
  };
  first.accumulate(part(0, 30).first, part(0, 30).second);
  second.restore(first.state());
  for (auto* session : {&first, &second}) session->accumulate(part(30, 120).first, part(30, 120).second);
  EXPECT_EQ(second.step_count(), 1);
  EXPECT_EQ(differing_bits(first.parameter_bytes(), second.parameter_bytes()), 0);
}

TEST_P(CudaTrainer, FreezesByName) {
  Session cpu(OnCpu{}, optimizer, {.global_batch = 64, .freeze = {"hidden/*"}});
  Session cuda(OnCuda{}, optimizer, {.global_batch = 64, .micro_batch = 20, .freeze = {"hidden/*"}});
  cpu.accumulate(x, y);
  cuda.accumulate(x, y);
  EXPECT_EQ(cuda.step_count(), 2);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
}

TEST_P(CudaTrainer, PlannedBytesAreAllocated) {
  const std::int64_t before = cuda::Memory::held();
  const auto held = [&] { return cuda::Memory::held() - before - std::int64_t{sizeof(cuda::Heard)}; };
  for (const std::int64_t micro_batch : {1, 23, 64}) {
    Session session(OnCuda{}, optimizer,
                    {.global_batch = 64, .micro_batch = micro_batch, .open_blocks = OpenBlocks::always});
    const MemoryTable planned = OnCuda::training_memory(optimizer, micro_batch, {.open_blocks = OpenBlocks::always});
    EXPECT_EQ(held(), planned.total());
    session.accumulate(x, y);
    session.evaluate(x, y);
    EXPECT_EQ(held(), planned.total());
    EXPECT_EQ(session.allocated_bytes(), planned.total());
    EXPECT_EQ(session.pinned_bytes(), planned.pinned);
    EXPECT_EQ(planned.pinned, planned.inputs + 2 * aligned(4 * micro_batch));  // losses, and samples, in two places each
  }
  EXPECT_EQ(cuda::Memory::held(), before);
}

TEST_P(CudaTrainer, PlansAgainInsideAWindow) {
  const std::int64_t before = cuda::Memory::held();
  Session cpu(OnCpu{}, optimizer, {.global_batch = 128, .seed = 5});
  Session cuda(OnCuda{}, optimizer, {.global_batch = 128, .seed = 5});
  const std::int64_t all = cuda.memory().total();
  for (int window = 0; window < 2; ++window) {
    cpu.accumulate(std::span(x).first(128 * 9), std::span(y).first(128));
    cuda.accumulate(std::span(x).first(50 * 9), std::span(y).first(50));
    cuda.set_budget(window == 0 ? all / 2 : all);
    EXPECT_EQ(cuda::Memory::held() - before, cuda.memory().total() + std::int64_t{sizeof(cuda::Heard)});
    cuda.accumulate(std::span(x).subspan(50 * 9, 78 * 9), std::span(y).subspan(50, 78));
  }
  EXPECT_EQ(cuda.step_count(), 2);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
}

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(CudaTrainer, TheHostWaitsForNoKernelsThatItAskedForLast) {
  Session session(OnCuda{}, optimizer, {.global_batch = 64, .micro_batch = 16});
  const auto accumulate = [&](std::size_t count) {
    return session.accumulate(std::span(x).first(count * 9), std::span(y).first(count));
  };
  EXPECT_EQ(accumulate(32), 0);
  EXPECT_EQ(cuda::twin::not_yet_done > 0, cuda::twin_works_late);  // backward, at least
  EXPECT_EQ(accumulate(32), 1);
  EXPECT_EQ(cuda::twin::not_yet_done > 0, cuda::twin_works_late);  // the update
  session.parameter_bytes();
  EXPECT_EQ(cuda::twin::not_yet_done, 0);
}
#endif

TEST_P(CudaTrainer, RefusesThreads) {
  EXPECT_THROW(Session(OnCuda{}, optimizer, {.global_batch = 8, .threads = 2}), OptionError);
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaTrainer, turns, name_of_turns);

}  // namespace trainer_test
