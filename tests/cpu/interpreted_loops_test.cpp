// Loops that gradual::kernels runs where nets are not optimised: to the bits of the reference. Other tests have more forms of
// loops; here are those whose values have little room, and ops that the library does not have.
#ifndef GRADUAL_INTERPRETED_LOOPS
#define GRADUAL_INTERPRETED_LOOPS 1
#endif
#include <gtest/gtest.h>

#include <cfenv>

#include "../compiled_against_reference.hpp"

namespace interpreted_loops_test {

using namespace against_reference;

/// Whether all loops of program P are interpreted.
template <class P>
constexpr bool interprets_all() {
  for (int g = 0; g < P::schedule.group_count; ++g)
    if (P::schedule.groups[g].kind == Kind::map && Cpu::kernels_of<P>.kernels[g].run != &cpu::interpret_loop) return false;
  return true;
}

/// A reduction in a loop with so many values that a chunk has fewer elements than a row has lanes.
template <class Real>
struct ManyValues {
  static constexpr int terms = 22;
  Parameter scale;
  constexpr explicit ManyValues(Scope s) : scale(s.parameter("scale", Shape{terms, 1}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    Var all = x;
    for (int i = 0; i < terms; ++i) all = all * slice(scale.on(x), 0, i, 1) + x;
    return {sum(all, {1})};
  }
};
/// Returns the most values of a loop of program P that reduces rows.
template <class P>
constexpr int most_values() {
  int most = 0;
  for (int g = 0; g < P::schedule.group_count; ++g)
    if (const LoopForm& form = loop_forms<P>[g]; form.row_reduces) most = std::max(most, form.count);
  return most;
}

TEST(InterpretedLoops, ManyValues) {
  using Net = Compiled<ManyValues<double>, Inputs<f64[75]>>;
  static_assert(interprets_all<Net::Training>() && most_values<Net::Training>() > 16384 / 8 / canonical_lanes);
  const auto x = numbers_in<double>(samples * 75);
  expect_equal_bits<Net>({x}, std::span(x));
}
TEST(InterpretedLoops, ManyValuesInFloat) {
  const auto x = numbers(samples * 75);
  expect_equal_bits<Compiled<ManyValues<float>, Inputs<f32[75]>>>({x}, std::span(x));
}

/// Classes of rows that are longer than a chunk.
struct Largest {
  Parameter scale;
  constexpr explicit Largest(Scope s) : scale(s.parameter("scale", Shape{3, 5000}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return convert(argmax(log(x * scale), 2), DType::f32); }
  constexpr Loss loss(Var x) const { return {sum(x * scale, {1, 2})}; }
};

TEST(InterpretedLoops, FindTheFirstLargestOfALongRow) {
  Inference<Compiled<Largest, Inputs<f32[3][5000]>>> net(std::vector<float>(15000, 1.0f), 2);
  std::vector<float> x(30000, 0.5f);
  x[4321] = 2, x[4400] = 2;                               // the first of two
  x[5000 + 17] = 7, x[5000 + 4999] = 8;                   // in the last chunk
  x[10000 + 100] = 1e30f, x[10000 + 2500] = -1;           // whose logarithm is NaN, which counts as largest
  std::fill(x.begin() + 15000, x.begin() + 20000, 0.0f);  // −infinity
  x[20000] = 1, x[25000 + 1023] = 1, x[25000 + 1024] = 1;
  std::vector<float> largest(6);
  net(x, largest);
  EXPECT_EQ(largest, (std::vector<float>{4321, 4999, 2500, 0, 0, 1023}));
}

/// Classes of short rows, many of which are a chunk.
struct LargestOfFew {
  Parameter scale;
  constexpr explicit LargestOfFew(Scope s) : scale(s.parameter("scale", Shape{7}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return convert(argmax(x * scale, 2), DType::f32); }
  constexpr Loss loss(Var x) const { return {sum(x * scale, {1, 2})}; }
};

TEST(InterpretedLoops, FindTheLargestOfShortRows) {
  Inference<Compiled<LargestOfFew, Inputs<f32[9][7]>>> net(std::vector<float>(7, 1.0f), 1);
  std::vector<float> x(63, 0.0f), expected, largest(9);
  for (std::size_t row = 0; row < 9; ++row) {
    x[row * 7 + row * 3 % 7] = 1;
    expected.push_back(static_cast<float>(row * 3 % 7));
  }
  net(x, largest);
  EXPECT_EQ(largest, expected);
}

/// A hidden layer whose memory its activation takes over, in a loop that reads both.
struct Replaced {
  nn::Linear hidden, output;
  constexpr explicit Replaced(Scope s) : hidden(s / "hidden", 3, 8, {.bias = false}), output(s / "output", 8, 8) {}
  constexpr Var predict(Var x) const {
    const Var h = hidden(x), a = tanh(h);
    return output(a) + sum(h * a, {1}, true);
  }
  constexpr Loss loss(Var x) const { return {sum(predict(x), {1})}; }
};

TEST(InterpretedLoops, ReadWhatTheyReplace) {
  using Net = Compiled<Replaced, Inputs<f32[3]>>;
  const auto x = numbers(samples * 3);
  std::vector<float> parameters = numbers(Net::parameter_elements), predicted(samples * 8);
  Inference<Net> net(parameters, samples);
  net(x, predicted);
  EagerTape tape(Device::cpu(), samples);
  const auto at = [&](std::size_t first, Shape shape) {
    const auto values = std::span<const float>(parameters).subspan(first, static_cast<std::size_t>(shape.unit()));
    return tape.input(Tensor::from(Device::cpu(), values, shape));
  };
  const Var h = matmul(tape.input(std::span<const float>(x), {3}), at(0, {3, 8})), a = tanh(h);
  const Tensor expected = value(matmul(a, at(24, {8, 8})) + at(88, {8}) + sum(h * a, {1}, true));
  for (std::size_t i = 0; i < predicted.size(); ++i) ASSERT_EQ(predicted[i], expected[static_cast<std::int64_t>(i)]) << i;
}

/// Values of two types, and what is drawn for many samples at a time.
struct Converted {
  Parameter scale;
  constexpr explicit Converted(Scope s) : scale(s.parameter("scale", Shape{3, 1}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var y = convert(dropout(x * scale, 0.3), DType::f32);
    return {sum(where(y > 0.1, convert(y * 3.0, DType::f64), x), {1, 2})};
  }
};

TEST(InterpretedLoops, ConvertOperandsAndDrawForSeveralSamples) {
  const auto x = numbers_in<double>(samples * 15);
  expect_equal_bits<Compiled<Converted, Inputs<f64[3][5]>>>({x}, std::span(x));
}

/// Rows that are summed side by side.
struct Pairs {
  Parameter scale;
  constexpr explicit Pairs(Scope s) : scale(s.parameter("scale", Shape{2}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return sum(x * scale, {2}); }
  constexpr Loss loss(Var x) const { return {sum(predict(x), {1})}; }
};

TEST(InterpretedLoops, SumsOfFewRowsOverflowNowhereElse) {
  Inference<Compiled<Pairs, Inputs<f32[19][2]>>> net(std::vector<float>{1, 1}, 1);
  std::vector<float> x, sums(19);
  for (int i = 0; i < 19; ++i) x.insert(x.end(), {3e38f, 0.3e38f});
  std::feclearexcept(FE_ALL_EXCEPT);
  net(x, sums);
  EXPECT_FALSE(std::fetestexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO));
  EXPECT_EQ(sums, std::vector<float>(19, 3e38f + 0.3e38f));
}

/// Ops that the library does not have: x/(1 + |x|), and the number of a row that is largest without its sign.
struct Softened {
  static constexpr const char* name = "softened";
  static constexpr int arity = 1;
  template <class T>
  static constexpr T apply(T x) {
    return x / (1 + (x < 0 ? -x : x));
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * square(1.0 / (1.0 + abs(x))); }
};
struct Farthest {
  static constexpr const char* name = "farthest";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::row_reduce;
  static constexpr double identity = 0;
  template <class T>
  static constexpr T apply(T a, T b) {
    return a * a < b * b ? b : a;
  }
  static constexpr Var vjp(Var g, Var x, Var y) { return share_among_equals(g, x, y); }
};
struct OwnOps {
  using Ops = OpList<Softened, Farthest>;
  Parameter scale;
  constexpr explicit OwnOps(Scope s) : scale(s.parameter("scale", Shape{5000}, init::uniform(1))) {}
  static constexpr Var farthest(Var x) {
    const int axis = 1;
    return reduce_axes<Farthest>(x, &axis, 1, false, x.dtype());
  }
  constexpr Loss loss(Var x) const {
    const Var y = elementwise<Softened>(x * scale);
    return {farthest(y) + farthest(slice(y, 1, 0, 40)) + farthest(slice(y, 1, 7, 5))};
  }
};

TEST(InterpretedLoops, OpsThatTheLibraryDoesNotHave) {
  const auto x = numbers(samples * 5000);
  expect_equal_bits<Compiled<OwnOps, Inputs<f32[5000]>>>({x}, std::span(x));
}

/// Wide rows, whose sums over samples threads share by columns, and whose elements they share by rows.
struct Wide {
  Parameter scale, shift, part;
  constexpr explicit Wide(Scope s)
      : scale(s.parameter("scale", Shape{3000}, init::uniform(1))), shift(s.parameter("shift", Shape{3000}, init::uniform(1))),
        part(s.parameter("part", Shape{100}, init::uniform(1))) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var parts = reshape(x, Shape::per_sample({30, 100}));
    return {mean(square(dropout(tanh(x * scale), 0.3) + shift), {1}) + cross_entropy(x * shift, label) +
            sum(square(parts * part), {1, 2})};
  }
};

TEST(InterpretedLoops, OnThreads) {
  using Net = Compiled<Wide, Inputs<f32[3000], i32>>;
  const auto x = numbers(samples * 3000);
  const auto label = labels(samples, 3000);
  const auto sums = [&](int threads, std::int64_t micro) {
    Session session(Net{}, Accumulate{Idle<float>{}},
                    {.global_batch = 10 * samples, .micro_batch = micro, .seed = 3, .threads = threads});
    session.accumulate(x, label);
    session.flush();
    return std::vector<float>(session.accumulator().begin(), session.accumulator().end());
  };
  expect_equal_bits<Net>({x, {label.begin(), label.end()}}, std::span(x), std::span(label));
  const std::vector<float> alone = sums(1, samples);
  EXPECT_EQ(alone, sums(2, samples));
  EXPECT_EQ(alone, sums(3, 7));
}

/// Bytes, a padded axis, dropout and a join of rows, in values of 16 bits.
struct SmallParts {
  Parameter scale;
  constexpr explicit SmallParts(Scope s) : scale(s.parameter("scale", Shape{4, 12}, init::uniform(1))) {}
  constexpr Loss loss(Var pixels) const {
    const Var image = convert(pad(pixels * (1.0 / 256), 1, 1, 2, 0.5), DType::bf16);
    const Var x = dropout(image * convert(pad(scale.on(pixels), 0, 2, 1, -1), DType::bf16), 0.25);
    std::vector<Var> rows;
    for (int i = 0; i < 7; ++i) rows.push_back(slice(x, 1, 6 - i, 1) * (1.0 + i));
    rows.push_back(slice(x, 1, 1, 2));
    const Var joined = concat(rows, 1);
    return {sum(convert(joined * joined, DType::f32), {1, 2}) + convert(max(joined, {1, 2}), DType::f32)};
  }
};

TEST(InterpretedLoops, BytesPaddingsAndJoinsOf16Bits) {
  using Net = Compiled<SmallParts, Inputs<u8[4][12]>>;
  static_assert(interprets_all<Net::Training>());
  std::vector<std::uint8_t> pixels(samples * 48);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 + i / 48);
  expect_equal_bits<Net>({{pixels.begin(), pixels.end()}}, std::span<const std::uint8_t>(pixels));
}

}  // namespace interpreted_loops_test
