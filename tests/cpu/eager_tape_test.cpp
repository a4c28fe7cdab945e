// What only a tape that runs its ops can do: show its values, be steered by them, forget them.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include <gradual/eager/print_tensor.hpp>
#include <gradual/eager/tape.hpp>

#include "../error_of.hpp"
#include "../expect_reference.hpp"

namespace eager_tape_test {

using namespace gradual;

Tensor doubles(std::initializer_list<double> values, const Shape& shape) { return Tensor::from(Device::cpu(), values, shape); }

TEST(EagerTape, HasValuesAsSoonAsTheyAreRecorded) {
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Tensor y = value(sum(x * x, {1}));
  EXPECT_EQ(y.shape(), Shape{2});
  EXPECT_EQ(y[0], 14);
  EXPECT_EQ(y[1], 77);
  EXPECT_EQ(value(transpose(x, {1, 0}))[1], 4);
  EXPECT_EQ(value(constant_like(x, 3))[5], 3);
}

TEST(EagerTape, AValueSteersWhatIsRecorded) {  // Newton's iteration for √2, until it converges, and its derivative
  EagerTape tape(Device::cpu());
  const Var a = tape.input(doubles({2}, {1}));
  Var x = a;
  int steps = 0;
  while (std::abs(value(x * x - a).item()) > 1e-15 && steps < 50) x = 0.5 * (x + a / x), ++steps;
  EXPECT_EQ(steps, 5);
  EXPECT_NEAR(value(gradients(x, {a})[0]).item(), 0.5 / std::sqrt(2.0), 1e-15);
}

/// The sum of f over all elements.
using Function = std::function<Var(Var)>;
double total(const Function& f, const std::vector<double>& at, const Shape& shape) {
  EagerTape tape(Device::cpu());
  return value(reduce_to(f(tape.input(Tensor::from(Device::cpu(), std::span<const double>(at), shape))), Shape{})).item();
}

/// Compares first and second derivatives of Σ f, by backward and by backward of its result, with 6-point differences.
void check_second(const Function& f, std::vector<double> at, const Shape& shape) {
  EagerTape tape(Device::cpu());
  const Var x = tape.input(Tensor::from(Device::cpu(), std::span<const double>(at), shape));
  const Var g = gradients(reduce_to(f(x), Shape{}), {x})[0];
  const Var h = gradients(reduce_to(square(g), Shape{}), {x})[0];  // 2 H g
  const auto slope = [&](const Function& of, std::size_t i) {
    const double step = 1e-3, center = at[i];
    const auto difference = [&](double k) {
      at[i] = center + k * step;
      const double up = total(of, at, shape);
      at[i] = center - k * step;
      const double down = total(of, at, shape);
      at[i] = center;
      return up - down;
    };
    return (45 * difference(1) - 9 * difference(2) + difference(3)) / (60 * step);
  };
  const Function squared_gradient = [&](Var v) { return square(gradients(reduce_to(f(v), Shape{}), {v})[0]); };
  for (std::size_t i = 0; i < at.size(); ++i) {
    EXPECT_NEAR(value(g)[static_cast<std::int64_t>(i)], slope(f, i), 1e-10);
    EXPECT_NEAR(value(h)[static_cast<std::int64_t>(i)], slope(squared_gradient, i), 1e-9);
  }
}

TEST(EagerTape, AGradientOfAGradientIsOneBackwardMore) {
  const std::vector<double> at = {0.3, -0.7, 1.1, 0.2, 0.9, -0.4};
  check_second([](Var x) { return tanh(x) * exp(x); }, at, {6});
  check_second([](Var x) { return softmax(matmul(x, x, false, true)) * 2.0; }, at, {2, 3});
  check_second([](Var x) { return log(sum(square(x), {1})); }, at, {3, 2});
}

template <class T>
concept IgnoresLabel = requires(Var scores, Var label, T ignored) { cross_entropy(scores, label, ignored); };
static_assert(IgnoresLabel<int> && !IgnoresLabel<double> && !IgnoresLabel<float>);  // a smoothing is no label

TEST(EagerTape, NumbersStandOnEitherSide) {
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({-1, 0, 2}, {3})), index = iota(x, 0);
  const auto expect = [](Var v, const std::vector<double>& expected) {
    const Tensor got = value(v);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[static_cast<std::int64_t>(i)], expected[i]) << i;
  };
  expect(x != 0.0, {1, 0, 1});
  expect(0.0 != x, {1, 0, 1});
  expect(x != x * x, {1, 0, 1});
  expect(0.0 == x, {0, 1, 0});
  expect(0.0 <= x, {0, 1, 1});
  expect(0.0 >= x, {1, 1, 0});
  expect(maximum(x, 0.5), {0.5, 0.5, 2});
  expect(minimum(x, 0.5), {-1, 0, 0.5});
  expect(maximum(0.5, x), {0.5, 0.5, 2});
  expect(minimum(0.5, x), {-1, 0, 0.5});
  expect(pow(2.0, x), {0.5, 1, 4});
  expect(where(x < 1.0, 5.0, -5.0), {5, 5, -5});
  expect(where(index != 1.0, 1.0, 3.0), {1, 3, 1});
  expect(where(index, 0.5, 3.0), {3, 0.5, 0.5});
  expect(0.5 * convert(index, DType::f64), {0, 0.5, 1});
}

TEST(EagerTape, HasWhatTheGuideMakesOfItsOps) {
  EagerTape tape(Device::cpu());
  const double at[] = {-0.9, 0, 0.6};
  const Var x = tape.input(doubles({at[0], at[1], at[2]}, {3})), m = broadcast(reshape(x, {3, 1}), {3, 3});
  const auto expect = [&](Var v, double (*of)(double)) {
    const Tensor got = value(v);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[static_cast<std::int64_t>(i)], of(at[i]), 1e-15);
  };
  expect(sin(x) / cos(x), std::tan);
  expect(0.5 * (expm1(x) - expm1(-x)), std::sinh);
  expect(atan2(x, constant_like(x, 1)), std::atan);
  expect(atan2(x, sqrt((1.0 - x) * (1.0 + x))), std::asin);
  const Tensor sums = value(sum(where(iota(m, 0) <= iota(m, 1), m, 0.0), {0}));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(sums[i], i < 2 ? -0.9 : -0.3, 1e-15);
}

/// Also where a product of x, x + 1, ... would overflow, and the third derivative, which approaches −1/x² for large x.
TEST(EagerTape, HasTheLogarithmOfGammaAndItsDerivatives) {
  EagerTape tape(Device::cpu());
  const double at[] = {0.01, 1, 1.4616321449683623, 4.2, 500, 1e6, 1e40};
  const Var x = tape.input(Tensor::from(Device::cpu(), std::span<const double>(at), {7})), y = lgamma(x);
  const Var first = gradients(y, {x})[0], second = gradients(first, {x})[0], third = gradients(second, {x})[0];
  const Tensor got = value(y), slope = value(first), curve = value(second), turn = value(third);
  for (std::int64_t i = 0; i < 7; ++i) EXPECT_NEAR(got[i], std::lgamma(at[i]), 1e-15 * (1 + std::abs(std::lgamma(at[i]))));
  EXPECT_NEAR(slope[1], -0.57721566490153286, 1e-15);  // −γ, ζ(2) and −2ζ(3)
  EXPECT_NEAR(curve[1], 1.6449340668482264, 1e-13);
  EXPECT_NEAR(turn[1], -2.4041138063191886, 1e-12);
  EXPECT_NEAR(slope[2], 0, 1e-15);
  for (std::int64_t i = 4; i < 7; ++i) {
    EXPECT_NEAR(slope[i], std::log(at[i] - 0.5), 1e-6);
    EXPECT_NEAR(curve[i] * (at[i] - 0.5), 1, 1e-6);
    EXPECT_NEAR(turn[i] * (at[i] - 0.5) * (at[i] - 0.5), -1, 1e-5);
  }
}

TEST(EagerTape, KeepsNothingOfWhatWasForgotten) {
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({1, 2}, {2}));
  tape.forget();
  const Var y = tape.input(doubles({3}, {1}));  // in the place of x
  EXPECT_THROW(value(x), TapeError);
  EXPECT_THROW(x * y, TapeError);
  EXPECT_THROW(y + x, TapeError);
  EXPECT_THROW(exp(x), TapeError);
  EXPECT_THROW(gradients(y, {x}), TapeError);
  EXPECT_EQ(tape.size(), 1);
  EXPECT_EQ(value(y * 2.0).item(), 6);
}

TEST(EagerTape, RefusesWhatIsNotItsOwn) {
  EagerTape one(Device::cpu()), two(Device::cpu());
  const Var x = one.input(doubles({1}, {1})), y = two.input(doubles({1}, {1}));
  EXPECT_THROW(x + y, TapeError);
  EXPECT_THROW(clamp(x, x, y), TapeError);
  EXPECT_THROW(clamp(x, 1.0, 0.0), OptionError);
  EXPECT_THROW(mse(y, x), TapeError);
  const std::int32_t label[] = {0};
  const Var labels = two.input(label);
  EXPECT_THROW(cross_entropy(reshape(x, {1, 1}), labels), TapeError);
  EXPECT_THROW(gather(reshape(x, {1, 1}), labels), TapeError);
  EXPECT_THROW(gradients(x, {y}), TapeError);
  Tape traced;
  EXPECT_THROW(value(input(traced, Shape{1}, DType::f32)), TapeError);
  EXPECT_THROW(value(Var{}), TapeError);
  EXPECT_THROW(input(one, Shape{1}, DType::f32), TapeError);
  EXPECT_EQ(value(x + x).item() + value(y).item(), 3);
}

TEST(EagerTape, IsUsableAfterAnError) {
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({1, 2, 3}, {3})), y = tape.input(doubles({1, 2}, {2}));
  const int before = tape.size();
  try {
    x + y;
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "add: shapes [3] and [2] do not broadcast at axis 0");
  }
  EXPECT_THROW(matmul(x, y), ShapeError);
  EXPECT_THROW(broadcast(y, {3}), ShapeError);  // the kernel would read beyond the values
  EXPECT_THROW(softmax(exp(Var{})), TapeError);
  const Var single = tape.input(Tensor::from(Device::cpu(), {1.0f, 2.0f, 3.0f}, {3}));
  try {
    x * single;
    FAIL();
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "multiply: unsupported operand types double and float");
  }
  const std::vector<float> values(7);
  EXPECT_THROW(tape.input(values, {3}), DataError);
  EXPECT_EQ(tape.size(), before + 1);
  EXPECT_THROW(argmax(x) + argmax(x), TypeError);
  EXPECT_THROW(matmul(reshape(x, {1, 3}), reshape(single, {3, 1})), TypeError);
  EXPECT_EQ(value(sum(x, {0})).item(), 6);
}

void expect_elements(const Tensor& tensor, std::initializer_list<double> expected) {
  ASSERT_EQ(tensor.size(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < tensor.size(); ++i) EXPECT_EQ(tensor[i], expected.begin()[i]) << i;
}

TEST(EagerTape, RefusesLabelsOutsideTheClasses) {
  EagerTape tape(Device::cpu(), 2);
  const std::vector<float> scores = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> good = {2, 0}, over = {0, 3}, under = {-1, 0};
  const Var x = tape.input(scores, {3}), outside = tape.input(over), negative = tape.input(under);
  const int before = tape.size();
  try {
    cross_entropy(x, outside);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "cross_entropy: label 3 at position 1 is outside the 3 classes 0 to 2");
  }
  EXPECT_EQ(error_of<DataError>([&] { pick(x, negative); }), "pick: label -1 at position 0 is outside the 3 classes 0 to 2");
  const Parameters parameters(Device::cpu());
  EXPECT_EQ(error_of<TapeError>([&] { EagerTape none(parameters, 2); }),
            "parameters: 0 are declared, none have values: construct the whole model before making a session or calling "
            "`initialize`");
  EXPECT_EQ(error_of<DataError>([&] { one_hot(negative, 3, -2); }),
            "one_hot: index -1 at position 0 is outside the 3 places 0 to 2 and not the ignored -2");
  EXPECT_THROW(cross_entropy(x, negative), DataError);
  EXPECT_THROW(cross_entropy(x, outside, -1), DataError);
  EXPECT_EQ(tape.size(), before);
  EXPECT_EQ(value(cross_entropy(x, negative, -1).weight)[0], 0);
  EXPECT_EQ(value(cross_entropy(x, outside, 3).weight)[0], 1);
  EXPECT_TRUE(std::ranges::equal(value(one_hot(outside, 3, 3)).values<float>(), std::vector<float>{1, 0, 0, 0, 0, 0}));
  EXPECT_NEAR(value(cross_entropy(x, tape.input(good)))[0], std::log(1 + std::exp(-1.0) + std::exp(-2.0)), 1e-6);
}

TEST(EagerTape, AddsUpWhatIsRepeated) {  // case 27
  EagerTape tape(Device::cpu());
  const Var column = tape.input(doubles({1, 2, 3}, {3, 1})), row = tape.input(doubles({1, 2, 3, 4}, {1, 4}));
  const auto of_sum = gradients(sum(column + row, {0, 1}), {column, row});
  expect_elements(value(of_sum[0]), {4, 4, 4});
  expect_elements(value(of_sum[1]), {3, 3, 3, 3});
  const Var none = tape.input(doubles({}, {0, 3})), one = tape.input(doubles({1, 2, 3}, {1, 3}));
  const auto of_none = gradients(sum(none + one, {0, 1}), {none, one});
  EXPECT_EQ(value(of_none[0]).size(), 0);
  expect_elements(value(of_none[1]), {0, 0, 0});
}

TEST(EagerTape, BothOperandsMayBeOne) {  // case 28
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({3, -2}, {2})), a = tape.input(doubles({1, 2, 3, 4}, {2, 2}));
  expect_elements(value(gradients(x - x, {x})[0]), {0, 0});
  expect_elements(value(gradients(x * x, {x})[0]), {6, -4});
  const Var g = tape.input(doubles({1, 10, 100, 1000}, {2, 2}));
  expect_elements(value(vjp(matmul(a, a), {a}, g)[0]),
                  {1 * 1 + 10 * 2 + 1 * 1 + 3 * 100, 1 * 3 + 10 * 4 + 1 * 10 + 3 * 1000, 100 * 1 + 1000 * 2 + 2 * 1 + 4 * 100,
                   100 * 3 + 1000 * 4 + 2 * 10 + 4 * 1000});
}

TEST(EagerTape, ReducesNothing) {  // case 26
  EagerTape tape(Device::cpu());
  const Var x = tape.input(doubles({}, {2, 0}));
  expect_elements(value(sum(x, {1})), {0, 0});
  expect_elements(value(prod(x, {1})), {1, 1});
  EXPECT_TRUE(std::isnan(value(mean(x, {1}))[1]));
  expect_elements(value(logsumexp(x)), {-INFINITY, -INFINITY});
  expect_elements(value(max(x, {0})), {});
  EXPECT_THROW(max(x, {1}), ShapeError);
  EXPECT_THROW(min(x, {0, 1}), ShapeError);
  EXPECT_THROW(argmin(x), ShapeError);
}

TEST(EagerTape, AdjointsOfSomeSamplesAtATimeHaveTheBitsOfTheReference) {
  constexpr std::int64_t batch = 2000, width = 40, size = batch * width;  // 819 samples at a time, and a remainder
  const auto waves = [](std::int64_t count, double step) {
    std::vector<float> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(std::sin(step * static_cast<double>(i))));
    return result;
  };
  const std::vector<float> values = waves(size, 1.7), shifts = waves(batch, 0.3), scales = waves(width, 0.9);
  EagerTape tape(Device::cpu(), batch);
  const Var x = tape.input(values, {width}), blocks = tape.input(values, {8, 5}), shift = tape.input(shifts, {1}),
            scale = tape.input(Tensor::from(Device::cpu(), std::span(scales), {width}));
  const Var hidden = tanh(x * scale) + shift + sin(flatten(blocks));
  const Var turned = transpose(reshape(hidden, Shape::per_sample({8, 5})), {0, 2, 1});
  const Var y = sum(square(log_softmax(hidden)), {1}) + sum(exp(turned) * square(turned), {1, 2});
  const std::int64_t before = tape.values().device().live_bytes();
  const std::vector<Var> g = gradients(y, {x, blocks, shift, scale, hidden});
  for (Var v : g) value(v);
  EXPECT_LT(tape.values().device().live_bytes() - before, 8 * size * 4);  // of more than 20 adjoints
  const Var again = gradients(sum(square(g[0]), {1}), {x})[0];
  value(again);
  expect_reference<float>(tape, "adjoints");
}

TEST(EagerTape, RunsEmptyBatches) {
  EagerTape tape(Device::cpu(), 0);
  const std::vector<double> none;
  const Var x = tape.input(none, {3}), w = tape.input(doubles({1, 2, 3}, {3, 1}));
  const Var y = matmul(x * 2.0, w);
  EXPECT_EQ(value(y).size(), 0);
  const Tensor g = value(gradients(y, {w})[0]);  // case 26
  for (int i = 0; i < 3; ++i) EXPECT_EQ(g[i], 0);
}

TEST(Tensor, ArePrintedToBeRead) {
  std::ostringstream out;
  out << Tensor::from(Device::cpu(), {1.0f, -2.5f, 0.125f, 3e10f, 0.0f, 1.0f / 3}, {2, 3});
  EXPECT_EQ(out.str(), "float[2, 3] on cpu\n"
                       "[[        1      -2.5     0.125]\n"
                       " [    3e+10         0    0.3333]]");
  std::vector<std::int32_t> count(100);
  for (int i = 0; i < 100; ++i) count[static_cast<std::size_t>(i)] = i;
  std::ostringstream rows;
  rows << Tensor::from(Device::cpu(), std::span<const std::int32_t>(count), {50, 2});
  EXPECT_EQ(rows.str(), "int32[50, 2] on cpu\n"
                        "[[        0         1]\n [        2         3]\n [        4         5]\n ...\n"
                        " [       94        95]\n [       96        97]\n [       98        99]]");
  std::ostringstream one;
  one << Tensor::from(Device::cpu(), {7.0}, {});
  EXPECT_EQ(one.str(), "double[] on cpu\n        7");
}

TEST(Tensor, AMoveIsAnotherHandle) {
  Tensor a = Tensor::from(Device::cpu(), {1.0f, 2.0f}, {2});
  const Tensor b = std::move(a);
  EXPECT_EQ(a.values<float>().data(), b.values<float>().data());
}

TEST(Tensor, RefuseWhatDoesNotFit) {
  const Tensor x = Tensor::from(Device::cpu(), {1.0f, 2.0f}, {2});
  std::vector<float> three(3);
  EXPECT_THROW(x.values<double>(), TypeError);
  EXPECT_THROW(x.copy_to(std::span(three)), ShapeError);
  EXPECT_THROW(x.item(), ShapeError);
  EXPECT_THROW(x[-1], ShapeError);
  EXPECT_THROW(x[2], ShapeError);
  EXPECT_THROW(Tensor::from(Device::cpu(), {1.0f}, {2}), ShapeError);
}

}  // namespace eager_tape_test
