// Every op that loops call, forward and backward, in fused kernels of the GPU or its host twin against the processor's.
#include <gradual/cuda.hpp>

#include "../every_op.hpp"
#include "cuda_test.hpp"

namespace every_op_test {

using namespace models;

template <class Model, class Where>
std::vector<float> gradients(const std::vector<std::vector<float>>& data, std::int64_t split) {
  Session session(EveryOpNet<Model, Where>{}, Accumulate{Sgd{}}, {.global_batch = every_op_samples, .micro_batch = split});
  session.accumulate(std::span(data[0]), std::span(data[1]), std::span(data[2]));
  const auto sums = session.accumulator();
  return {sums.begin(), sums.end()};
}

template <class Model>
void expect_equal_bits() {
  const auto data = every_op_operands(200);
  const auto expected = gradients<Model, Cpu>(data, every_op_samples), got = gradients<Model, Cuda>(data, 50);
  ASSERT_EQ(expected.size(), got.size());
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    numbers += got[i] == got[i];
    EXPECT_TRUE(equal_or_nan(expected[i], got[i]))
        << "parameter element " << i << ": " << expected[i] << " against " << got[i];
  }
  EXPECT_GT(numbers, expected.size() * 9 / 10);
}

/// A minimum would be −0 for −0.
struct Below {
  constexpr explicit Below(Scope) {}
  constexpr Var predict(Var x) const { return where(x < 0.0, x, 0.0); }
};
template <class Where>
std::vector<float> below(const std::vector<float>& x) {
  std::vector<float> result(x.size());
  Inference<Compiled<Below, Inputs<f32>, Where>>(std::span<const float>())(x, result);
  return result;
}

class CudaOps : public CudaTest {};
TEST_P(CudaOps, ZerosHaveTheProcessorsSigns) {
  const std::vector<float> x = {-0.0f, 0.0f, -1.0f, 1.0f};
  const auto expected = below<Cpu>(x), got = below<Cuda>(x);
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got))), 0);
}
TEST_P(CudaOps, EvenMapOps) { expect_equal_bits<MapOpsModel<MapOps, 0, 2>>(); }
TEST_P(CudaOps, OddMapOps) { expect_equal_bits<MapOpsModel<MapOps, 1, 2>>(); }
TEST_P(CudaOps, RowOps) { expect_equal_bits<RowOpsModel>(); }
INSTANTIATE_TEST_SUITE_P(Turns, CudaOps, turns, name_of_turns);

}  // namespace every_op_test
