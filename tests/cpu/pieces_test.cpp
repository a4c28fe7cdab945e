// Slices and paddings in fused kernels: splits, threads, eager and compiled give equal bits.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

using namespace both_ways;

namespace {

const Samples<float> x{numbers(samples * 12), {3, 4}};

TEST(Pieces, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<PiecesNet>({60}, 1, x);
  EXPECT_EQ(whole, train_compiled<PiecesNet>({7, 1, 30, 22}, 1, x));
  EXPECT_EQ(whole, train_compiled<PiecesNet>({25}, 2, x));
  EXPECT_EQ(whole, train_eager<Pieces>({60}, x));
  EXPECT_EQ(whole, train_eager<Pieces>({13, 21}, x));
}

}  // namespace
