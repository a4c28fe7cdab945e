// Slices and paddings in fused kernels: splits, threads, eager and compiled give equal bits.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

namespace pieces_test {

using namespace both_ways;

const Samples<float> x{numbers(samples * 12), {3, 4}};

TEST(Pieces, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<PiecesNet>({60}, 1, x);
  EXPECT_EQ(whole, train_compiled<PiecesNet>({7, 1, 30, 22}, 1, x));
  EXPECT_EQ(whole, train_compiled<PiecesNet>({25}, 2, x));
  EXPECT_EQ(whole, train_eager<Pieces>({60}, x));
  EXPECT_EQ(whole, train_eager<Pieces>({13, 21}, x));
}

/// Views with contiguous rows, and one that only seems to have them: two of four columns of four rows.
struct Views {
  nn::Linear whole, part;
  constexpr explicit Views(Scope s) : whole(s / "whole", 16, 2), part(s / "part", 8, 2) {}
  constexpr Loss loss(Var rows) const {
    const Var turned = transpose(reshape(rows, Shape::per_sample({1, 16})), {0, 2, 1});
    const Var error = whole(flatten(tanh(turned))) - part(flatten(tanh(slice(rows, 2, 1, 2))));
    return Loss(sum(error * error, {1}));
  }
};

TEST(Pieces, ViewsWhoseRowsFollowOneAnother) {
  const Samples<float> rows{numbers(samples * 16), {4, 4}};
  EXPECT_EQ((train_compiled<Compiled<Views, Inputs<f32[4][4]>>>({60}, 1, rows)), train_eager<Views>({60}, rows));
}

/// Rows that are all padding, with nothing to read.
struct Framed {
  Parameter weight;
  constexpr explicit Framed(Scope s) : weight(s.parameter("weight", Shape{2, 16}, init::uniform(1))) {}
  constexpr Loss loss(Var rows) const {
    const Var nothing = broadcast(slice(rows, 1, 0, 1), Shape::per_sample({0, 16}));
    return Loss(sum(sum(square(rows * weight + pad(nothing, 1, 2, 0, 0.5)), {2}), {1}));
  }
};

TEST(Pieces, PaddingsOfNothing) {
  const Samples<float> rows{numbers(samples * 32), {2, 16}};
  EXPECT_EQ((train_compiled<Compiled<Framed, Inputs<f32[2][16]>>>({60}, 1, rows)), train_eager<Framed>({60}, rows));
}

/// Wide columns that are split, and so padded in backward, with sums over samples in the same kernel.
struct Split {
  nn::Linear all;
  constexpr explicit Split(Scope s) : all(s / "all", 4, 96) {}
  constexpr Loss loss(Var rows) const {
    const auto [a, b, c] = gradual::split<3>(all(rows));
    return Loss(sum(a * b + tanh(c), {1, 2}));
  }
};

TEST(Pieces, OfWideColumns) {
  const Samples<float> rows{numbers(samples * 64 * 4), {64, 4}};
  using Net = Compiled<Split, Inputs<f32[64][4]>>;
  const std::vector<float> whole = train_compiled<Net>({60}, 1, rows);
  EXPECT_EQ(whole, train_compiled<Net>({60}, 2, rows));
  EXPECT_EQ(whole, train_compiled<Net>({7, 33}, 1, rows));
  EXPECT_EQ(whole, train_eager<Split>({60}, rows));
}

/// The mean over normalised steps, whose adjoint is one row for all steps.
struct MeanOfSteps {
  nn::LayerNorm norm;
  constexpr explicit MeanOfSteps(Scope s) : norm(s / "norm", 48) {}
  constexpr Loss loss(Var rows) const { return Loss(sum(square(mean(norm(rows), {1})), {1})); }
};

TEST(Pieces, MeansOverAnInnerAxis) {
  const Samples<float> rows{numbers(samples * 5 * 48), {5, 48}};
  using Net = Compiled<MeanOfSteps, Inputs<f32[5][48]>>;
  const std::vector<float> whole = train_compiled<Net>({60}, 1, rows);
  EXPECT_EQ(whole, train_compiled<Net>({7, 33}, 1, rows));
  EXPECT_EQ(whole, train_eager<MeanOfSteps>({60}, rows));
  EXPECT_EQ(explain<Net>().find("broadcast"), std::string::npos);  // it is not stored repeatedly
}

}  // namespace pieces_test
