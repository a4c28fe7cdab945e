// Sums of many pieces that lie side by side: kernels read each row's piece alone, and give the bits of adding up all of them.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../compiled_against_reference.hpp"

using namespace both_ways;

namespace {

/// How many joins kernels read piece by piece.
template <class Net>
int joins() {
  using Program = typename Net::Training;
  int count = 0;
  for (int i = 0; i < Program::nodes; ++i) count += Program::schedule.join[i] == i;
  return count;
}

TEST(Joins, EqualBitsOfTheReference) {
  EXPECT_EQ(joins<JoinedNet<f32>>(), 4);  // two stacks, and the gradients of the steps and of the weight
  const auto x = numbers(models::samples * 80);
  expect_equal_bits<JoinedNet<f32>>({x}, std::span(x));
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
    const Var zeros = 0.0 * x * scale.on(x);
    std::vector<Var> rows;
    Var padded;
    for (int t = 0; t < 8; ++t) {
      rows.push_back(select(zeros, 1, t));
      const Var row = pad(stack({rows.back()}, 1), 1, 7 - t, t + 1, 0);  // the last row holds none
      padded = t == 0 ? row : padded + row;
    }
    const Var joined = concat({stack(rows, 1), slice(zeros, 1, 0, 1)}, 1);
    return Loss(sum(atan2(joined, constant_like(joined, -1)) + 2.0 * atan2(padded, constant_like(padded, -1)), {1, 2}));
  }
};

TEST(Joins, SignsOfZeros) {
  using Net = Compiled<Zeros, Inputs<f32[8][8]>>;
  EXPECT_EQ(joins<Net>(), 3);  // and the gradient of the rows
  const auto x = numbers(models::samples * 64);
  expect_equal_bits<Net>({x}, std::span(x));
}

/// Neither few pieces nor short ones, nor pieces that overlap, nor paddings with other numbers are read one by one.
struct NoJoins {
  Parameter scale;
  constexpr explicit NoJoins(Scope s) : scale(s.parameter("scale", Shape{12, 4}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var rows = tanh(x * scale.on(x));
    std::vector<Var> few, narrow;
    Var overlapping, other;
    for (int t = 0; t < 10; ++t) {
      if (t < 7) few.push_back(select(rows, 1, t));
      narrow.push_back(slice(select(rows, 1, t), 1, 0, 1));
      const Var two = pad(slice(rows, 1, t, 2), 1, t, 10 - t, 0), one = pad(slice(rows, 1, t, 1), 1, t, 11 - t, 0.5);
      overlapping = t == 0 ? two : overlapping + two;
      other = t == 0 ? one : other + one;
    }
    return Loss(sum(square(stack(few, 1)), {1, 2}) + sum(square(concat(narrow, 1)), {1}) + sum(overlapping * other, {1, 2}));
  }
};

TEST(Joins, WhatIsNone) {
  using Net = Compiled<NoJoins, Inputs<f32[12][4]>>;
  EXPECT_EQ(joins<Net>(), 0);
  const auto x = numbers(models::samples * 48);
  expect_equal_bits<Net>({x}, std::span(x));
}

}  // namespace
