// Small nets whose micro-batch is one launch of one block of threads, and larger ones beside them: the same bits as
// kernels of their own, and as the processor.
#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

using namespace models;

namespace {

constexpr std::int64_t window = 150;  // a closed block of 128 and an open one

template <class Net>
struct OnCuda;
template <class Model, class In>
struct OnCuda<Compiled<Model, In, Cpu>> {
  using type = Compiled<Model, In, Cuda>;
};

/// Trains two windows in micro-batches of `split`, small enough for one block, and compares.
template <class Net, class Rule, class... Span>
void expect_equal_bits(Rule rule, std::int64_t samples, std::int64_t split, Span... data) {
  using Device = typename OnCuda<Net>::type;
  static_assert(Cuda::samples_in_one_launch<typename Device::Training>() > 0);
  EXPECT_LE(split, Cuda::samples_in_one_launch<typename Device::Training>());
  Session cpu(Net{}, Accumulate{rule}, {.global_batch = samples, .seed = 3});
  Session cuda(Device{}, Accumulate{rule}, {.global_batch = samples, .micro_batch = split, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(data...);
    cuda.accumulate(data...);
    EXPECT_EQ(cpu.last_window().loss(), cuda.last_window().loss());
  }
  EXPECT_EQ(cuda.step_count(), 2);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(cpu.optimizer_state_bytes(), cuda.optimizer_state_bytes()), 0);
}

class OneBlock : public CudaTest {};

TEST_P(OneBlock, ClassifierWithDropoutAndAClippedUpdate) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const auto rule = ClipByGlobalNorm{Adam{.learning_rate = 0.01f}, 0.5};
  using Update = OnCuda<DroppedNet>::type::UpdateOf<std::remove_const_t<decltype(rule)>>;
  static_assert(Cuda::ends_in_one_launch<Update>());
  expect_equal_bits<DroppedNet>(rule, window, 41, std::span(x), std::span(y));
}

TEST_P(OneBlock, WeightedSamples) {
  const auto x = numbers(window * 4), y = numbers(window * 3, 2);
  auto weight = numbers(window, 5);
  for (float& w : weight) w = w * w;
  expect_equal_bits<WeightedNet>(Sgd{.learning_rate = 0.01f}, window, 64, std::span(x), std::span(y),
                                 std::span(weight));
}

TEST_P(OneBlock, TokensAndTables) {
  constexpr std::int64_t some = 20;
  const auto x = labels(some * 7, 11);
  expect_equal_bits<TokensNet>(Sgd{.learning_rate = 0.01f}, some, 9, std::span(x), std::span(x));
}

TEST_P(OneBlock, DropsAnUpdateThatWasAskedFor) {
  auto x = numbers(24 * 2);
  for (float& v : x) v = v * v + 0.1f;
  x[21] = 0;  // in the second window
  constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Adam{}, 0.5}};
  using Device = Compiled<SquareRoot, Inputs<f32[2]>, Cuda>;
  static_assert(Cuda::ends_in_one_launch<Device::UpdateOf<ClipByGlobalNorm<Adam>>>());
  Session cpu(Compiled<SquareRoot, Inputs<f32[2]>>{}, optimizer, {.global_batch = 8});
  Session cuda(Device{}, optimizer, {.global_batch = 8, .micro_batch = 3});
  EXPECT_EQ(cuda.accumulate(x), 2);
  EXPECT_EQ(cpu.accumulate(x), 2);
  EXPECT_EQ(cuda.dropped_windows(), 1);
  EXPECT_EQ(differing_bits(cpu.parameter_bytes(), cuda.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(cpu.optimizer_state_bytes(), cuda.optimizer_state_bytes()), 0);
}

/// So large that one block would take longer than launches do.
struct Large {
  nn::Linear layer;
  constexpr explicit Large(Scope s) : layer(s / "layer", 1000, 1000) {}
  constexpr Loss loss(Var x) const { return Loss(sum(layer(x), {-1})); }
};

TEST(OneBlockOrMany, IsChosenByTheWork) {
  using cuda::Work;
  constexpr std::int64_t worth = cuda::work_worth_a_launch;
  static_assert(cuda::samples_in_one_block({.once = 0, .of_sample = worth, .kernels = 8}) == 7);
  static_assert(cuda::samples_in_one_block({.once = worth, .of_sample = worth + 1, .kernels = 8}) == 5);
  static_assert(cuda::samples_in_one_block({.once = 3 * worth, .of_sample = 0, .kernels = 2}) == 0);
  static_assert(cuda::samples_in_one_block({.once = 0, .of_sample = 1, .kernels = 1}) == 0,
                "one kernel is one launch already");
  static_assert(Cuda::samples_in_one_launch<Compiled<Large, Inputs<f32[1000]>, Cuda>::Training>() == 0);
  using Separate = CudaWith<Numerics::reproducible, Precision::float32, Launches::separate>;
  static_assert(Separate::samples_in_one_launch<ClassifierNet::Training>() == 0);
  EXPECT_NE(explain<OnCuda<ClassifierNet>::type>().find(
                "one launch computes micro-batches of up to " +
                std::to_string(Cuda::samples_in_one_launch<OnCuda<ClassifierNet>::type::Training>())),
            std::string::npos);
  EXPECT_EQ(explain<ClassifierNet>().find("launch"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Turns, OneBlock, turns, name_of_turns);

}  // namespace
