// Sums of many pieces that lie side by side: kernels read only the piece of each row, with the bits of adding up all of them.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../compiled_against_reference.hpp"

namespace joins_test {

using namespace both_ways;

/// Returns how many joins kernels read piece by piece.
template <class Net>
int joins() {
  using Program = typename Net::Training;
  int count = 0;
  for (int i = 0; i < Program::nodes; ++i) count += Program::schedule.join[i] == i;
  return count;
}

TEST(Joins, EqualBitsOfTheReference) {
  EXPECT_EQ(joins<JoinedNet<f32>>(), 4);  // two stacks, and the gradients of the steps and of the weight
  const auto x = numbers(against_reference::samples * 80);
  against_reference::expect_equal_bits<JoinedNet<f32>>({x}, std::span(x));
}

TEST(Joins, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const Samples<float> x{numbers(both_ways::samples * 80), {10, 8}};
  const std::vector<float> whole = train_compiled<JoinedNet<f32>>({60}, 1, x);
  EXPECT_EQ(whole, train_compiled<JoinedNet<f32>>({7, 1, 30, 22}, 1, x));
  EXPECT_EQ(whole, train_compiled<JoinedNet<f32>>({25}, 2, x));
  EXPECT_EQ(whole, train_eager<JoinedSteps>({13, 21}, x));
}

TEST(Joins, OfSixteenBits) {
  const Samples<bf16> x{numbers_in<bf16>(both_ways::samples * 80), {10, 8}};
  const std::vector<float> whole = train_compiled<JoinedNet<bf16>>({60}, 1, x);
  EXPECT_EQ(whole, train_compiled<JoinedNet<bf16>>({7, 1, 30, 22}, 1, x));
}

/// The angle of (−1, y) is π where y is +0, and −π where it is −0: a sum of paddings with +0 has no −0.
struct Zeros {
  Parameter scale;
  constexpr explicit Zeros(Scope s) : scale(s.parameter("scale", Shape{8, 8}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var zeros = 0.0 * x * scale;
    std::vector<Var> rows;
    Var padded;
    for (int t = 0; t < 8; ++t) {
      rows.push_back(select(zeros, 1, t));
      const Var row = pad(stack({rows.back()}, 1), 1, 7 - t, t + 1, 0);  // no piece in the last row
      padded = t == 0 ? row : padded + row;
    }
    const Var joined = concat({stack(rows, 1), slice(zeros, 1, 0, 1)}, 1);
    return Loss(sum(atan2(joined, constant_like(joined, -1)) + 2.0 * atan2(padded, constant_like(padded, -1)), {1, 2}));
  }
};

TEST(Joins, SignsOfZeros) {
  using Net = Compiled<Zeros, Inputs<f32[8][8]>>;
  EXPECT_EQ(joins<Net>(), 3);  // with the gradient of the rows
  const auto x = numbers(against_reference::samples * 64);
  against_reference::expect_equal_bits<Net>({x}, std::span(x));
}

/// Pieces of one and of two rows; the sum of the first eight is read by itself, too; none contains the first or last row.
struct PartsOfJoins {
  Parameter scale;
  constexpr explicit PartsOfJoins(Scope s) : scale(s.parameter("scale", Shape{26, 8}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var rows = tanh(x * scale);
    Var sum_of_all, half;
    for (int t = 0; t < 16; ++t) {
      const int first = 1 + t + t / 2, count = 1 + t % 2;
      const Var piece = pad(slice(rows, 1, first, count), 1, first, 26 - first - count, 0);
      sum_of_all = t == 0 ? piece : sum_of_all + piece;
      if (t == 7) half = sum_of_all;
    }
    return Loss(sum(square(half) * x, {1, 2}) + sum(sigmoid(sum_of_all) * x, {1, 2}));
  }
};

TEST(Joins, PartsThatAreReadThemselves) {
  using Net = Compiled<PartsOfJoins, Inputs<f32[26][8]>>;
  EXPECT_EQ(joins<Net>(), 2);  // the half, and the gradient of the rows
  const auto x = numbers(against_reference::samples * 208);
  against_reference::expect_equal_bits<Net>({x}, std::span(x));
}

/// Not read piece by piece: few pieces, short pieces, pieces that overlap, and paddings with numbers or zeros of both signs.
struct NoJoins {
  Parameter scale;
  constexpr explicit NoJoins(Scope s) : scale(s.parameter("scale", Shape{12, 8}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var rows = tanh(x * scale);
    std::vector<Var> few, narrow;
    Var overlapping, other, mixed;
    for (int t = 0; t < 10; ++t) {
      const Var row = slice(rows, 1, t, 1);
      if (t < 7) few.push_back(row);
      narrow.push_back(slice(select(rows, 1, t), 1, 0, 1));
      const Var two = pad(slice(rows, 1, t, 2), 1, t, 10 - t, 0);
      const Var some = pad(row, 1, t, 11 - t, 0.5), zero = pad(row, 1, t, 11 - t, t % 2 == 0 ? 0.0 : -0.0);
      overlapping = t == 0 ? two : overlapping + two;
      other = t == 0 ? some : other + some;
      mixed = t == 0 ? zero : mixed + zero;
    }
    return Loss(sum(square(concat(few, 1)), {1, 2}) + sum(square(concat(narrow, 1)), {1}) +
                sum(overlapping * other * mixed, {1, 2}));
  }
};

TEST(Joins, WhatIsNone) {
  using Net = Compiled<NoJoins, Inputs<f32[12][8]>>;
  EXPECT_EQ(joins<Net>(), 0);
  const auto x = numbers(against_reference::samples * 96);
  against_reference::expect_equal_bits<Net>({x}, std::span(x));
}

}  // namespace joins_test
