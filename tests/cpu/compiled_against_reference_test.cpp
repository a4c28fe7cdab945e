// Every fused, planned, optimised kernel against the naive reference: equal bits, not tolerances.
#include <gtest/gtest.h>

#include <cfenv>

#include <gradual/autodiff/cpu/loop_kernel.hpp>

#include "../compiled_against_reference.hpp"

namespace compiled_against_reference_test {

using namespace against_reference;

TEST(CompiledAgainstReference, Classifier) {
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  expect_equal_bits<ClassifierNet>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, ClassifierWithDropout) {
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  expect_equal_bits<DroppedNet>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, ComputedWeightsReadTransposed) {
  const auto x = numbers(samples * 4), y = numbers(samples * 4, 2);
  expect_equal_bits<TiedNet>({x, y}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, WeightedRegression) {
  const auto x = numbers(samples * 4), y = numbers(samples * 3, 2);
  auto w = numbers(samples, 3);
  for (float& v : w) v = v < -0.5f ? 0.0f : v + 1.0f;
  expect_equal_bits<WeightedNet>({x, y, w}, std::span(x), std::span(y), std::span(w));
}

TEST(CompiledAgainstReference, SequenceWithThreePositionsPerSample) {
  const auto x = numbers(samples * 18), y = numbers(samples * 6, 2);
  expect_equal_bits<SequenceNet>({x, y}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, LayersThatAreUsedSeveralTimes) {
  const auto x = numbers(samples * 108), y = numbers(samples * 2, 2);
  expect_equal_bits<SharedNet>({x, y}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, TokensWithAttention) {
  const auto x = labels(samples * 7, 11), y = labels(samples * 7, 11);
  expect_equal_bits<TokensNet>({{x.begin(), x.end()}, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, RowsOfSamplesOwnTables) {
  const auto ends = edges(samples);
  const auto x = numbers(samples * 15), y = numbers(samples * 2, 2);
  expect_equal_bits<EdgesNet<float>>({x, {ends.begin(), ends.end()}, y}, std::span(x), std::span(ends), std::span(y));
  const auto x_double = numbers_in<double>(samples * 15), y_double = numbers_in<double>(samples * 2, 2);
  expect_equal_bits<EdgesNet<double>>({x_double, {ends.begin(), ends.end()}, y_double}, std::span(x_double), std::span(ends),
                                      std::span(y_double));
}

TEST(CompiledAgainstReference, EveryKernelInDouble) {
  auto image = numbers_in<double>(samples * 16);
  for (double& value : image) value *= 1.1;  // more digits than a float has
  const auto token = labels(samples, 7), label = labels(samples, 3);
  expect_equal_bits<NarrowNet<double>>({image, {token.begin(), token.end()}, {label.begin(), label.end()}}, std::span(image),
                                       std::span(token), std::span(label));
}

/// One value that is reduced over its last axis, and over both.
struct TwoReductions {
  Parameter scale;
  constexpr explicit TwoReductions(Scope s) : scale(s.parameter("scale", Shape{3, 6}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var y = x * scale;
    const Var rows = sum(y, {-1}), all = sum(y, {1, 2});
    return {all + sum(rows * rows, {-1})};
  }
};

TEST(CompiledAgainstReference, OneValueReducedOverOtherAxes) {
  const auto x = numbers(samples * 18);
  expect_equal_bits<Compiled<TwoReductions, Inputs<f32[3][6]>>>({x}, std::span(x));
}

/// Rows that are reduced one by one, several side by side, and, if transposed, side by side although they fill vectors.
struct RowsOfManyWidths {
  Parameter scale;
  constexpr explicit RowsOfManyWidths(Scope s) : scale(s.parameter("scale", Shape{31}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var y = x * scale;
    Var all = sum(max(transpose(slice(x, 2, 0, 8), {0, 2, 1}) * 3.0, {2}), {1});
    for (const int width : {8, 16, 20, 24, 31}) all += sum(logsumexp(slice(y, 2, 31 - width, width)), {1, 2});
    return {all};
  }
};

TEST(CompiledAgainstReference, ShortRowsOfManyWidths) {
  const auto x = numbers(samples * 16 * 31);
  expect_equal_bits<Compiled<RowsOfManyWidths, Inputs<f32[16][31]>>>({x}, std::span(x));
}

/// Rows of one to three numbers, cut out of longer ones, and rows put together from some.
struct NarrowRows {
  Parameter scale;
  constexpr explicit NarrowRows(Scope s) : scale(s.parameter("scale", Shape{13}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var y = x * scale;
    std::vector<Var> all;
    for (int width : {1, 2, 3, 1, 2}) all.push_back(tanh(slice(y, 1, width, width) * slice(y, 1, 13 - 2 * width, width)));
    const Var some = concat(all, 1);
    return {sum(square(concat({some, slice(y, 1, 0, 3)}, 1)) * exp(slice(some, 1, 0, 1)), {1})};
  }
};

/// Returns how many kernels of P run vectors over rows.
template <class P, int... G>
constexpr int over_rows(std::integer_sequence<int, G...>) {
  const auto is_one = []<int g>(std::integral_constant<int, g>) {
    if constexpr (P::template group<g>.kind == Kind::map) return cpu::NarrowRows<P, g>::apply ? 1 : 0;
    else return 0;
  };
  return (is_one(std::integral_constant<int, G>{}) + ...);
}

TEST(CompiledAgainstReference, NarrowRows) {
  using Net = Compiled<NarrowRows, Inputs<f32[13]>>;
  using P = Net::Training;
  static_assert(over_rows<P>(std::make_integer_sequence<int, P::schedule.group_count>{}) > 2);
  const auto x = numbers(samples * 13);
  expect_equal_bits<Net>({x}, std::span(x));
}

/// Rows that end inside vectors of 4, 8 or 16 elements, summed by row and over the batch in one kernel; rows of joined
/// values, and the index of a row's largest.
struct RowsThatEndInsideAVector {
  nn::LayerNorm odd, joined;
  constexpr explicit RowsThatEndInsideAVector(Scope s) : odd(s / "odd", 63), joined(s / "joined", 50) {}
  constexpr Loss loss(Var x) const {
    const Var y = odd(x), rows = concat({slice(x, 2, 0, 50), 2.0 * slice(y, 2, 13, 50)}, 1);
    Var all = sum(y * y, {1, 2}) + sum(tanh(joined(rows)), {1, 2});
    for (const int width : {33, 37, 40, 46, 50}) {
      const Var part = slice(y, 2, 63 - width, width), place = argmax(part);
      const Var chosen = where(place < constant_like(place, 20), min(part, {2}), 2.0 * max(-part, {2}));
      all += sum(logsumexp(part), {1, 2}) + sum(chosen, {1});
    }
    return {all};
  }
};

TEST(CompiledAgainstReference, RowsThatEndInsideAVector) {
  const auto x = numbers(samples * 3 * 63);
  expect_equal_bits<Compiled<RowsThatEndInsideAVector, Inputs<f32[3][63]>>>({x}, std::span(x));
  const auto precise = numbers_in<double>(samples * 3 * 63);
  expect_equal_bits<Compiled<RowsThatEndInsideAVector, Inputs<f64[3][63]>>>({precise}, std::span(precise));
}

TEST(CompiledAgainstReference, RowsThatEndInsideAVectorInPartsOfBlocks) {
  using Net = Compiled<RowsThatEndInsideAVector, Inputs<f32[3][63]>>;
  const auto x = numbers(samples * 3 * 63);
  const auto learned = [&](std::int64_t micro_batch) {
    Session session(Net{}, Accumulate{Sgd{.learning_rate = 0.1f}}, {.global_batch = samples, .micro_batch = micro_batch});
    for (auto [part] : Dataset<float>::of(samples, x).batches(micro_batch)) session.accumulate(part);
    EXPECT_EQ(session.step_count(), 1);
    const auto bytes = session.parameter_bytes();
    return std::vector(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(learned(7), learned(samples));
}

/// Numbers that are repeated in all columns of such rows, also in memory, where a product reads them; as does the derivative of
/// a mean.
struct RepeatedInRows {
  nn::Linear of_repeated, layer;
  Parameter number;
  constexpr explicit RepeatedInRows(Scope s)
      : of_repeated(s / "repeated", 37, 2), layer(s / "layer", 37, 37),
        number(s.parameter("number", Shape{}, init::constant(0.3))) {}
  constexpr Loss loss(Var x, Var z) const {
    const Var all = broadcast(x, Shape::per_sample({37})), one = broadcast(number.on(x) * x, Shape::per_sample({37}));
    const Var of_all = of_repeated(all) + of_repeated(one);
    return {sum(square(of_all), {1}) + sum(square((all + one) * z), {1}) +
            sum(square(softmax(layer(z)) - z), {1}) + square(mean(layer(z), {1}) - sum(x, {1}))};
  }
};

TEST(CompiledAgainstReference, NumbersThatAreRepeatedInRowsThatEndInsideAVector) {
  const auto x = numbers(samples), z = numbers(samples * 37, 2);
  expect_equal_bits<Compiled<RepeatedInRows, Inputs<f32[1], f32[37]>>>({x, z}, std::span(x), std::span(z));
  const auto wide_x = numbers_in<double>(samples), wide_z = numbers_in<double>(samples * 37);
  expect_equal_bits<Compiled<RepeatedInRows, Inputs<f64[1], f64[37]>>>({wide_x, wide_z}, std::span(wide_x), std::span(wide_z));
}

/// A sum in double of values that are stored as floats: what exceeds 35, 35 · 2^-32, must be seen.
struct SumInDouble {
  Parameter scale;
  constexpr explicit SumInDouble(Scope s) : scale(s.parameter("scale", Shape{35}, init::constant(1))) {}
  constexpr Var predict(Var x) const {
    const Var all = sum(convert(x * scale, DType::f64) * (1 + 0x1p-32), {1}, true);
    return convert((all - 35.0) * 0x1p32, DType::f32);
  }
};

TEST(CompiledAgainstReference, RowsThatEndInsideAVectorInAnotherType) {
  const std::vector<float> ones(35, 1.0f);
  float rest = 0;
  Inference<Compiled<SumInDouble, Inputs<f32[35]>>> inference(std::span<const float>(ones), 1);
  inference(ones, std::span(&rest, 1));
  EXPECT_EQ(rest, 35);
}

struct Reciprocals {
  Parameter scale;
  constexpr explicit Reciprocals(Scope s) : scale(s.parameter("scale", Shape{35}, init::constant(1))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(1.0 / (x * scale), {1})); }
};

TEST(CompiledAgainstReference, RowsThatEndInsideAVectorTrapNowhereElse) {
  const std::vector<float> x(35, 2.0f);
  Session session(Compiled<Reciprocals, Inputs<f32[35]>>{}, Accumulate{Sgd{.learning_rate = 0.1f}}, {.global_batch = 1});
  std::feclearexcept(FE_ALL_EXCEPT);
  session.accumulate(x);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), 0);
}

/// A product whose last reader is one kernel that reads it both element by element and transposed.
struct ReadTwoWays {
  Parameter weight;
  constexpr explicit ReadTwoWays(Scope s) : weight(s.parameter("weight", Shape{3, 3}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x), h = matmul(x, w);
    const Var doubled = matmul(2.0 * h, w), turned = matmul(transpose(h, {0, 2, 1}), w);
    return Loss(sum(doubled * turned, {1, 2}));
  }
};

TEST(CompiledAgainstReference, AValueIsNotReplacedWhereItsOtherElementsAreRead) {
  const auto x = numbers(samples * 9);
  expect_equal_bits<Compiled<ReadTwoWays, Inputs<f32[3][3]>>>({x}, std::span(x));
}

/// A product whose last reader is one kernel that reads it under two shapes; its first result may take over the memory.
struct ReadUnderTwoShapes {
  Parameter weight, mix;
  constexpr explicit ReadUnderTwoShapes(Scope s)
      : weight(s.parameter("weight", Shape{3, 3}, init::uniform(1))), mix(s.parameter("mix", Shape{12, 2}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var h = matmul(x, weight), column = reshape(h, Shape::per_sample({12, 1}));
    const Var doubled = matmul(2.0 * flatten(h), mix), more = matmul(flatten(column + 1.0), mix);
    return Loss(sum(doubled * more, {1}));
  }
};

TEST(CompiledAgainstReference, AValueIsLoadedOnceUnderSeveralShapes) {
  const auto x = numbers(samples * 12);
  expect_equal_bits<Compiled<ReadUnderTwoShapes, Inputs<f32[4][3]>>>({x}, std::span(x));
}

/// Ops whose operands are the same value.
struct Repeated {
  Parameter square, gone;
  constexpr explicit Repeated(Scope s)
      : square(s.parameter("square", Shape{3, 3}, init::uniform(1))), gone(s.parameter("gone", Shape{3}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var a = square.on(x), b = gone.on(x), h = matmul(x, matmul(a, a)), twice = matmul(transpose(h, {0, 2, 1}), h);
    return Loss(sum(h * h, {1, 2}) + sum(twice, {1, 2}) + sum((b - b) * h, {1, 2}));
  }
};

TEST(CompiledAgainstReference, RepeatedOperands) {  // case 28
  using Net = Compiled<Repeated, Inputs<f32[2][3]>>;
  const auto x = numbers(samples * 6);
  expect_equal_bits<Net>({x}, std::span(x));
  Session session(Net{}, Accumulate{Sgd{.learning_rate = 0.1f, .momentum = 0.9f}}, {.global_batch = samples});
  session.accumulate(x);
  const auto gradients = session.accumulator();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gradients[static_cast<std::size_t>(Net::parameter_offset(1) + i)], 0.0f);
}

/// Sums over no elements, which are 0, beside others, and a weight that no position of a sample uses.
struct Empties {
  Parameter weight, unmet;
  constexpr explicit Empties(Scope s)
      : weight(s.parameter("weight", Shape{3, 4}, init::uniform(1))),
        unmet(s.parameter("unmet", Shape{4, 5}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var h = matmul(x, weight);
    const Var narrow = broadcast(slice(h, 2, 0, 1), Shape::per_sample({2, 0}));
    const Var low = broadcast(slice(h, 1, 0, 1), Shape::per_sample({0, 4}));
    const Var padding = pad(narrow, 2, 0, 1, 5.0);
    return Loss(sum(h * h, {1, 2}) + sum(narrow * narrow, {1, 2}) + sum(low * low, {1, 2}) +
                sum(padding * slice(h, 2, 0, 1), {1, 2}) + sum(sum(narrow * narrow, {2}), {1}) +
                sum(sum(low * low, {2}), {1}) + sum(matmul(low, unmet), {1, 2}));
  }
};

TEST(CompiledAgainstReference, SumsOfNothing) {  // case 26
  const auto x = numbers(samples * 6);
  expect_equal_bits<Compiled<Empties, Inputs<f32[2][3]>>>({x}, std::span(x));
}

/// 2²⁵ ones in one row.
struct Ones {
  Parameter scale;
  constexpr explicit Ones(Scope s) : scale(s.parameter("scale", Shape{}, init::constant(1))) {}
  constexpr Loss loss(Var x) const {
    return {sum(broadcast(reshape(x, Shape::per_sample({1})), Shape::per_sample({1 << 25})), {1}) * scale};
  }
};

TEST(CompiledAgainstReference, RowSumOf33554432Ones) {  // case 25
  Session session(Compiled<Ones, Inputs<f32>>{}, Accumulate{Sgd{}}, {.global_batch = 1});
  EXPECT_EQ(session.evaluate(std::vector{1.0f}).loss(), 33554432);
  EXPECT_LT(session.memory().total(), 100000);
}

/// A last layer of one column.
struct OneColumn {
  nn::Linear hidden, output;
  constexpr explicit OneColumn(Scope s) : hidden(s / "hidden", 3, 16), output(s / "output", 16, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(tanh(hidden(x))), y)}; }
};

TEST(CompiledAgainstReference, OneColumn) {
  const auto x = numbers(samples * 3), y = numbers(samples, 2);
  expect_equal_bits<Compiled<OneColumn, Inputs<f32[3], f32[1]>>>({x, y}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, Convolutions) {
  const auto x = numbers(samples * 2 * 16 * 12);
  const auto y = labels(samples, 5);
  expect_equal_bits<ConvolutionalNet>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, ConvolutionsInGroups) {
  const auto x = numbers(samples * 2 * 9 * 8);
  const auto y = labels(samples, 5);
  expect_equal_bits<Compiled<Separable, Inputs<f32[2][9][8], i32>>>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, ConvolutionsThatDifferByAxis) {
  const auto x = numbers(samples * 2 * 6 * 21);
  const auto y = labels(samples, 5);
  expect_equal_bits<Compiled<Rectangular, Inputs<f32[2][6][21], i32>>>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(CompiledAgainstReference, TransposedConvolutions) {
  const auto x = numbers(samples * 7);
  const auto y = labels(samples, 5);
  expect_equal_bits<Compiled<Decoder, Inputs<f32[7], i32>>>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

}  // namespace compiled_against_reference_test
