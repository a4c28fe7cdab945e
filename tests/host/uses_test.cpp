// Uses of one parameter: which of them share one sum over the batch, in which order it runs, and how much memory it takes.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/program.hpp>
#include <gradual/autodiff/reference.hpp>
#include <gradual/core/cpu/contraction_of_uses.hpp>
#include <gradual/nn/gru.hpp>

#include "../random_numbers.hpp"

namespace uses_test {

using namespace gradual;

using Values = std::vector<float>;

Values numbers(std::int64_t count, std::uint64_t seed) {
  Values result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(static_cast<double>(mix(seed * 1000 + i) >> 11) * 0x1p-52 - 1);
  return result;
}

/// The gradient of a loss by parameter w: the tape, and its sums over the batch, in order.
struct Recorded {
  Tape tape;
  std::vector<int> sums;
  template <class F>
  explicit Recorded(const Shape& w, F loss) {
    const Parameter parameter = Scope(tape.parameters).parameter("w", w, {});
    Tape traced = tape;
    const Var value = parameter.on(Var(&traced, 0));
    const Var y = loss(traced, value);
    traced.first_adjoint = traced.size();
    const Var g = backward(y, constant_like(y, 1), {value.id})[static_cast<std::size_t>(value.id)];
    traced.roots.push_back({Role::gradient, 0, g.id});
    tape = simplify(traced);
    for (int i = 0; i < tape.size(); ++i)
      if (is_sample_sum(tape[i].op->kind)) sums.push_back(i);
  }
};

constexpr std::int64_t batch = 150, in = 70, out = 80, positions = 2, uses_of_w = 3;

TEST(Uses, AreAddedInOrderOfSampleUseAndPosition) {
  const Shape rows = Shape::per_sample({positions, in}), adjoints = Shape::per_sample({positions, out});
  const Recorded recorded({in, out}, [&](Tape& tape, Var w) {
    Var y;
    for (int u = 0; u < uses_of_w; ++u) {
      const Var x = input(tape, rows, DType::f32), c = input(tape, adjoints, DType::f32);
      const Var one = sum(matmul(x, w) * c, {1, 2});
      y = u == 0 ? one : y + one;
    }
    return y;
  });
  ASSERT_EQ(recorded.sums.size(), 1u);
  EXPECT_EQ(summed_positions(recorded.tape.nodes.data(), recorded.tape[recorded.sums[0]]), uses_of_w * positions);

  std::vector<Values> data;
  for (std::uint64_t u = 0; u < uses_of_w; ++u) {
    data.push_back(numbers(batch * positions * in, 2 * u));
    data.push_back(numbers(batch * positions * out, 2 * u + 1));
  }
  const Values weights = numbers(in * out, 9);
  const Values got = Reference<float>(recorded.tape, batch, data, {weights}).root(Role::gradient);
  constexpr std::int64_t block = 16;  // samples of 6 positions each, at most 128 positions
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t j = 0; j < out; ++j) {
      float total = 0;
      for (std::int64_t begin = 0; begin < batch; begin += block) {
        float chain = 0;
        for (std::int64_t s = begin; s < begin + block && s < batch; ++s)
          for (std::size_t u = 0; u < uses_of_w; ++u)
            for (std::int64_t p = s * positions; p < (s + 1) * positions; ++p)
              chain = std::fma(data[2 * u][static_cast<std::size_t>(p * in + i)],
                               data[2 * u + 1][static_cast<std::size_t>(p * out + j)], chain);
        total += chain;
      }
      EXPECT_EQ(got[static_cast<std::size_t>(i * out + j)], total) << i << ", " << j;
    }
}

/// A block that begins inside a sample: rows from two values with three positions in each of two samples.
TEST(Uses, AreReadFromInsideASample) {
  const float a[] = {0, 1, 2, 3, 4, 5}, b[] = {10, 11, 12, 13, 14, 15};
  const void* const values[] = {a, b};
  float space[12];
  const float* rows = cpu::RowsOfUses<float>{values, 1, 3}.rows(4, 6, space);
  EXPECT_EQ(std::vector<float>(rows, rows + 6), (std::vector<float>{11, 12, 3, 4, 5, 13}));
}

TEST(Uses, ByAnotherShapeOrOpHaveSumsOfTheirOwn) {
  const Recorded recorded({64, 64}, [&](Tape& tape, Var w) {
    const Var x = input(tape, Shape::per_sample({64}), DType::f32);
    const Var pieces = input(tape, Shape::per_sample({2, 64}), DType::f32);
    const Var there = tanh(matmul(x, w)), back = matmul(there, w, false, true);  // the same op and shapes
    const Var apart = matmul(pieces, w), gain = reshape(x, Shape::per_sample({1, 64})) * w;
    return sum(back, {1}) + sum(tanh(apart), {1, 2}) + sum(gain, {1, 2});
  });
  ASSERT_EQ(recorded.sums.size(), 3u);
  std::int64_t all = 0;
  for (const int sum : recorded.sums) all += summed_positions(recorded.tape.nodes.data(), recorded.tape[sum]);
  EXPECT_EQ(all, 2 + 2 + 1);
}

/// A plain sum of values that no contraction reads is computed where its terms are: for a joint sum, all of them would have
/// to be stored.
TEST(Uses, OfAGainAreSummedWhereTheyAre) {
  const Recorded recorded({4}, [&](Tape& tape, Var w) {
    Var h = input(tape, Shape::per_sample({4}), DType::f32);
    for (int t = 0; t < 3; ++t) h = tanh(h * w);
    return sum(h, {1});
  });
  EXPECT_EQ(recorded.sums.size(), 3u);
}

/// The rows of only a few samples would take as much memory as the sums that are saved.
TEST(Uses, WithManyPositionsOrFewColumnsHaveSumsOfTheirOwn) {
  const auto sums = [](std::int64_t columns, std::int64_t rows) {
    return Recorded({columns, columns}, [&](Tape& tape, Var w) {
      const Var x = input(tape, Shape::per_sample({rows, columns}), DType::f32);
      return sum(matmul(tanh(matmul(x, w)), w), {1, 2});
    }).sums.size();
  };
  EXPECT_EQ(sums(32, 1), 1u);
  EXPECT_EQ(sums(31, 1), 2u);
  EXPECT_EQ(sums(32, 2), 2u);
  EXPECT_EQ(sums(64, 2), 1u);
}

/// examples/10-forecast: a weight or bias that is used in twelve steps has one sum, of the parameter's size.
struct Forecast {
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Forecast(Scope s) : gru(s / "gru", 1, 24), output(s / "output", 24, 1) {}
  constexpr Loss loss(Var x, Var next) const { return {mse(output(gru(x).back()), next)}; }
};

TEST(Uses, OfAGruHaveOneSumForEachParameter) {
  const Tape tape = simplify(trace_training<Forecast>(Inputs<f32[12][1], f32[1]>{}));
  std::int64_t elements = 0, sums = 0;
  for (const Node& node : tape.nodes)
    if (is_sample_sum(node.op->kind)) elements += node.shape.unit(), ++sums;
  EXPECT_EQ(sums, static_cast<std::int64_t>(tape.parameters.size()));
  EXPECT_EQ(aligned(4 * elements), 7936);
}

}  // namespace uses_test
