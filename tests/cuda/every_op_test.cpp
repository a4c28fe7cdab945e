// Every op that loops call, forward and backward, in fused kernels of the GPU or its host twin, against the processor's.
#include <gradual/cuda.hpp>

#include "../every_op.hpp"
#include "cuda_test.hpp"

namespace every_op_test {

using namespace models;

template <class Session>
std::vector<float> gradients(Session& session, const Values& data) {
  session.accumulate(std::span(data[0]), std::span(data[1]), std::span(data[2]));
  session.flush();
  const auto sums = session.accumulator();
  return {sums.begin(), sums.end()};
}

#if defined(GRADUAL_CUDA_TWIN)
using Backend = Cuda;  // one launch for few samples: the twin's many threads are slow
#else
using Backend = SeparateCuda;  // else nvcc takes a quarter longer
#endif

/// Compares the gradients of the samples `data`, for each of these parameters; for empty ones, as initialised. Returns the
/// fraction of gradients that are not NaN.
template <class Model>
double expect_equal_bits(const Values& data, const std::vector<Values>& parameters = {{}}) {
  Session cpu(EveryOpNet<Model>{}, Accumulate{Sgd{}}, {.global_batch = every_op_samples});
  Session cuda(EveryOpNet<Model, Backend>{}, Accumulate{Sgd{}}, {.global_batch = every_op_samples, .micro_batch = 50});
  double numbers = 0, all = 0;
  for (const Values& given : parameters) {
    std::vector<float> values;
    for (const auto& part : given) values.insert(values.end(), part.begin(), part.end());
    if (!given.empty()) cpu.set_parameters(values), cuda.set_parameters(values);
    const auto expected = gradients(cpu, data), got = gradients(cuda, data);
    EXPECT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < expected.size(); ++i, ++all) {
      numbers += got[i] == got[i];
      EXPECT_TRUE(equal_or_nan(expected[i], got[i]))
          << "parameter element " << i << ": " << expected[i] << " against " << got[i];
    }
  }
  return numbers / all;
}

/// Maps −0 to 0, where a minimum would give −0.
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
template <class Model>
void expect_equal_bits_of(const std::vector<Values>& special) {
  EXPECT_GT(expect_equal_bits<Model>(every_op_operands(200)), 0.9);
  EXPECT_GT(expect_equal_bits<Model>(every_op_ones, special), 0.5);
}
using EvenMapOps = MapOpsModel<MapOps, 0, 2>;
using OddMapOps = MapOpsModel<MapOps, 1, 2>;
TEST_P(CudaOps, EvenMapOps) { expect_equal_bits_of<EvenMapOps>(special_scales<EvenMapOps>()); }
TEST_P(CudaOps, OddMapOps) { expect_equal_bits_of<OddMapOps>(special_scales<OddMapOps>()); }
TEST_P(CudaOps, RowOps) { expect_equal_bits_of<RowOpsModel>(special_rows()); }
INSTANTIATE_TEST_SUITE_P(Turns, CudaOps, turns, name_of_turns);

}  // namespace every_op_test
