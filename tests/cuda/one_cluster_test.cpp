// Small nets, whose micro-batch is one launch of one cluster of blocks, and larger ones: the same bits as separate kernels
// and as the processor.
#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

namespace one_cluster_test {

using namespace models;

template <class Net>
using OnCuda = On<Net, Cuda>;

/// Trains in micro-batches of `split`, small enough for one cluster, and compares.
template <class Net, class Rule, class... Span>
void expect_equal_bits_of_one_cluster(const Rule& rule, std::int64_t samples, std::int64_t split, const Span&... data) {
  static_assert(Cuda::samples_in_one_launch<typename Net::Training>() > 0);
  EXPECT_LE(split, Cuda::samples_in_one_launch<typename Net::Training>());
  expect_equal_training<Net>(rule, samples, split, data...);
}

class OneCluster : public CudaTest {};

TEST_P(OneCluster, ClassifierWithDropoutAndAClippedUpdate) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const auto rule = ClipByGlobalNorm{Adam{.learning_rate = 0.01f}, 0.5};
  using Update = OnCuda<DroppedNet>::UpdateOf<std::remove_const_t<decltype(rule)>>;
  static_assert(Cuda::ends_in_one_launch<Update>());
  expect_equal_bits_of_one_cluster<OnCuda<DroppedNet>>(rule, window, 41, x, y);
}

TEST_P(OneCluster, WeightedSamples) {
  const auto x = numbers(window * 4), y = numbers(window * 3, 2);
  auto weight = numbers(window, 5);
  for (float& w : weight) w = w * w;
  expect_equal_bits_of_one_cluster<OnCuda<WeightedNet>>(Sgd{.learning_rate = 0.01f}, window, 64, x, y, weight);
}

TEST_P(OneCluster, TokensAndTables) {
  constexpr std::int64_t some = 20;
  const auto x = labels(some * 7, 11);
  expect_equal_bits_of_one_cluster<OnCuda<TokensNet>>(Sgd{.learning_rate = 0.01f}, some, 9, x, x);
}

TEST_P(OneCluster, DropsAnUpdateThatWasAskedFor) {
  const std::vector<float> x = samples_with_a_zero();
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

/// So large that one cluster would take longer than separate launches.
struct Large {
  nn::Linear layer;
  constexpr explicit Large(Scope s) : layer(s / "layer", 1000, 1000) {}
  constexpr Loss loss(Var x) const { return Loss(sum(layer(x), {-1})); }
};

/// Searching all indices for each row of a large table is too much for one cluster, though few rows are updated.
struct LargeTable {
  nn::Embedding table;
  constexpr explicit LargeTable(Scope s) : table(s / "table", 10000, 64) {}
  constexpr Loss loss(Var x) const { return Loss(sum(square(table(x)), {1, 2})); }
};

TEST(OneClusterOrMany, IsChosenByTheWork) {
  using cuda::Work;
  constexpr std::int64_t worth = cuda::work_worth_a_launch;
  static_assert(cuda::samples_in_one_cluster({.once = 0, .of_sample = worth, .kernels = 8}) == 7);
  static_assert(cuda::samples_in_one_cluster({.once = worth, .of_sample = worth + 1, .kernels = 8}) == 5);
  static_assert(cuda::samples_in_one_cluster({.once = 3 * worth, .of_sample = 0, .kernels = 2}) == 0);
  static_assert(cuda::samples_in_one_cluster({.once = 0, .of_sample = 1, .kernels = 1}) == 0,
                "one kernel is one launch already");
  static_assert(Cuda::samples_in_one_launch<Compiled<Large, Inputs<f32[1000]>, Cuda>::Training>() == 0);
  static_assert(Cuda::samples_in_one_launch<Compiled<LargeTable, Inputs<i32[16]>, Cuda>::Training>() == 0);
  static_assert(SeparateCuda::samples_in_one_launch<ClassifierNet::Training>() == 0);
  EXPECT_NE(explain<OnCuda<ClassifierNet>>().find(
                "one launch computes micro-batches of up to " +
                std::to_string(Cuda::samples_in_one_launch<OnCuda<ClassifierNet>::Training>())),
            std::string::npos);
  EXPECT_EQ(explain<ClassifierNet>().find("launch"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Turns, OneCluster, turns, name_of_turns);

}  // namespace one_cluster_test
