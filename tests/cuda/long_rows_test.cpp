// Rows of thousands of columns, which kernels distribute by the number of rows, against the processor's.
#include <gradual/cuda.hpp>

#include "cuda_test.hpp"

namespace long_rows_test {

using namespace models;

using Net = OnSeparateCuda<LongRowsNet>;

class CudaLongRows : public CudaTest {};

/// Returns whether any loop of program P gives a row to a block of threads.
template <class P, int... G>
constexpr bool has_long_rows(std::integer_sequence<int, G...>) {
  return (cuda::LongRowTile<LoopBody<P, loop_codes<P>.code[G]>>::pays || ...);
}

TEST_P(CudaLongRows, RowsThatABlockOfThreadsTakes) {
  constexpr std::int64_t some = 20;
  static_assert(cuda::are_few(some) && has_long_rows<Net::Training>(std::make_integer_sequence<int, 5>{}));
  expect_equal_training<Net>(ClipByGlobalNorm{Sgd{.learning_rate = 0.5f}, 0.1}, some, 9, labels(some, 7),
                                             labels(some, 2500));
}

/// Planned for so many samples that one thread takes the chain of a column and block, and a warp a row; only some are given,
/// as two parts of one block and a part of the next.
TEST_P(CudaLongRows, ChainsThatAThreadTakesAlone) {
  constexpr std::int64_t planned = 3600, part = 70, columns = 2500;
  static_assert(planned / canonical_block * columns >= cuda::multiprocessors * cuda::chains_worth_a_thread);
  using Optimizer = Accumulate<Sgd>;
  const Optimizer optimizer{Sgd{.learning_rate = 0.5f}};
  Eager<Net, Optimizer> cpu(optimizer, {.global_batch = planned, .seed = 3});
  Session cuda(Net{}, optimizer, {.global_batch = planned, .micro_batch = planned, .seed = 3});
  for (int i = 0; i < 2; ++i) {
    cpu.accumulate(part, labels(part, 7), labels(part, columns));
    cuda.accumulate(labels(part, 7), labels(part, columns));
  }
  cpu.session.flush();
  cuda.flush();
  EXPECT_EQ(cuda.step_count(), 1);
  expect_equal_bits(cuda, cpu);
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaLongRows, turns, name_of_turns);

}  // namespace long_rows_test
