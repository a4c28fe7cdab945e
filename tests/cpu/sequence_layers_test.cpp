// Recurrent layers and attention in one net: splits, eager and compiled give equal bits.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

using namespace both_ways;

namespace {

struct Reader {
  nn::Gru gru;
  nn::MultiHeadAttention attention;
  nn::Linear output;
  constexpr explicit Reader(Scope s)
      : gru(s / "gru", 2, 6), attention(s / "attention", 6, 2, nn::Attend::backward), output(s / "output", 6, 3) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var states = stack(gru(x), 1);
    return {mse(output(select(states + attention(states), 1, -1)), y)};
  }
};
using ReaderNet = Compiled<Reader, Inputs<f32[4][2], f32[3]>>;

TEST(SequenceLayers, SplitsEagerAndCompiledGiveEqualBits) {
  const Samples<float> x{numbers(samples * 8), {4, 2}}, y{numbers(samples * 3, 3), {3}};
  const std::vector<float> whole = train_compiled<ReaderNet>({60}, 1, x, y);
  EXPECT_EQ(whole, train_compiled<ReaderNet>({7, 1, 30, 22}, 1, x, y));
  EXPECT_EQ(whole, train_eager<Reader>({60}, x, y));
  EXPECT_EQ(whole, train_eager<Reader>({13, 21}, x, y));
}

TEST(SharedLayers, SplitsEagerAndCompiledGiveEqualBits) {
  const Samples<float> x{numbers(samples * 18), {3, 6}}, y{numbers(samples * 2, 3), {2}};
  const std::vector<float> whole = train_compiled<SharedNet>({60}, 1, x, y);
  EXPECT_EQ(whole, train_compiled<SharedNet>({7, 1, 30, 22}, 3, x, y));
  EXPECT_EQ(whole, train_eager<Shared>({60}, x, y));
  EXPECT_EQ(whole, train_eager<Shared>({13, 21}, x, y));
}

}  // namespace
