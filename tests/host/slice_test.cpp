// Slices, paddings and joins: values, also at compile time, every bit of joined parts, and errors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include <gradual/autodiff/reference.hpp>

#include "../error_of.hpp"

namespace slice_test {

using namespace gradual;

using Values = std::vector<double>;

/// Returns the value that f computes from the numbers 0, 1, ... in this shape, for a batch of 2.
template <class F>
constexpr Values made(const Shape& shape, F f) {
  Tape tape;
  Values x;
  for (std::int64_t i = 0; i < shape.elements(2); ++i) x.push_back(static_cast<double>(i));
  f(input(tape, shape, DType::f64));
  return Reference<double>(tape, 2, {x}, {})[tape.size() - 1];
}

constexpr bool test() {
  const Shape matrix = Shape::per_sample({2, 3});
  bool right = made(matrix, [](Var x) { slice(x, 2, 1, 2); }) == Values{1, 2, 4, 5, 7, 8, 10, 11};
  right &= made(matrix, [](Var x) { slice(x, -2, -1, 1); }) == Values{3, 4, 5, 9, 10, 11};
  right &= made(matrix, [](Var x) { select(x, -1, -1); }) == Values{2, 5, 8, 11};
  right &= made(Shape{2, 2}, [](Var x) { pad(x, 0, 1, 0, 7); }) == Values{7, 7, 0, 1, 2, 3};
  right &= made(Shape::per_sample({1, 2}), [](Var x) { pad(x, 2, 1, 1); }) == Values{0, 0, 1, 0, 0, 2, 3, 0};
  right &= made(Shape::per_sample({2}), [](Var x) { concat({x, 10.0 * x}); }) == Values{0, 1, 0, 10, 2, 3, 20, 30};
  right &= made(Shape::per_sample({2}), [](Var x) { stack({x, 10.0 * x}); }) == Values{0, 0, 1, 10, 2, 20, 3, 30};
  right &= made(Shape::per_sample({2}), [](Var x) { stack({x, 10.0 * x}, 1); }) == Values{0, 1, 0, 10, 2, 3, 20, 30};
  right &= made(Shape::per_sample({4}), [](Var x) {
             const auto parts = split<2>(x);
             concat({parts[1], parts[0]});
           }) == Values{2, 3, 0, 1, 6, 7, 4, 5};
  right &= made(matrix, [](Var x) { flip(x, 1); }) == Values{3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8};
  right &= made(matrix, [](Var x) { flip(x, -1); }) == Values{2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9};
  right &= made(Shape{5}, [](Var x) { flip(x, 0); }) == Values{4, 3, 2, 1, 0};
  return right;
}
static_assert(test());

TEST(Slice, ValuesAtRunTimeAsInTheCompiler) { EXPECT_TRUE(test()); }

TEST(Slice, ShapesOfWhatIsSelectedAndStacked) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4, 3}), DType::f32);
  EXPECT_EQ(select(x, 1, 2).shape(), Shape::per_sample({3}));
  EXPECT_EQ(stack({x, x}, -2).shape(), Shape::per_sample({4, 2, 3}));
  EXPECT_EQ(stack(std::vector{x, x, x}, 1).shape(), Shape::per_sample({3, 4, 3}));
  EXPECT_EQ(concat(std::vector{x}, 1).id, x.id);
  EXPECT_EQ(slice(x, 1, 0, 4).id, x.id);
  EXPECT_EQ(pad(x, 1, 0, 0).id, x.id);
  EXPECT_EQ(flip(slice(x, 1, 0, 1), 1).shape(), Shape::per_sample({1, 3}));
  const Var i = input(tape, Shape::per_sample({4}), DType::i32);
  EXPECT_EQ(select(i, 1, 0).dtype(), DType::i32);
}

TEST(Slice, ConcatKeepsEveryBit) {
  const std::vector<float> x = {-0.0f, 0.0f, INFINITY, -INFINITY, 0x1p-149f, -1.5f};
  Tape tape;
  const Var v = input(tape, Shape::per_sample({3}), DType::f32);
  const Var both = concat({v, v});
  const Reference<float> reference(tape, 2, {x}, {});
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(reference[both.id][i]), std::bit_cast<std::uint32_t>(x[i / 6 * 3 + i % 3]))
        << i;
}

TEST(Slice, FlipKeepsEveryBitOfAnyNumberOfPlaces) {
  for (const int places : {1, 2, 3, 4, 31, 32, 33, 100}) {
    std::vector<float> x = {-0.0f, INFINITY, NAN, 0x1p-149f, -1.5f, -INFINITY};
    for (int i = 6; i < 100; ++i) x.push_back(static_cast<float>(i));
    x.resize(static_cast<std::size_t>(places));
    Tape tape;
    const Var y = flip(input(tape, Shape{places}, DType::f32), 0);
    const std::vector<float> got = Reference<float>(tape, 1, {x}, {})[y.id];
    ASSERT_EQ(got.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(x[x.size() - 1 - i])) << places << " " << i;
  }
}

void expect_error(const std::string& text, const std::function<void()>& call) { EXPECT_EQ(error_of<Error>(call), text); }

TEST(Slice, WhatDoesNotFitIsRefusedByName) {
  Tape tape;
  tape.parameters.push_back({Name() << "gates/weight", Shape{3, 4}, {}});
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), gates = matmul(x, parameter(tape, 0));
  const Var i = input(tape, Shape::per_sample({3}), DType::i32);
  const int nodes = tape.size();
  expect_error("slice: along the sample axis of [batch, 4] it couples the samples of a batch (after layer 'gates')",
               [&] { slice(gates, 0, 0, 1); });
  expect_error("concat: along the sample axis of [batch, 4] it couples the samples of a batch (after layer 'gates')", [&] {
    concat({gates, gates}, 0);
  });
  expect_error("slice: 3 from place 2 does not fit axis 1 of [batch, 4] (after layer 'gates')",
               [&] { slice(gates, 1, 2, 3); });
  expect_error("select: slice: 1 from place -5 does not fit axis -1 of [batch, 4] (after layer 'gates')",
               [&] { select(gates, -1, -5); });
  expect_error("slice: 0 from place 0 does not fit axis 1 of [batch, 4] (after layer 'gates')",
               [&] { slice(gates, 1, 0, 0); });
  expect_error("slice: axis 2 does not fit shape [batch, 4] (after layer 'gates')", [&] { slice(gates, 2, 0, 1); });
  expect_error("split: axis -1 of [batch, 4] does not make 3 equal parts (after layer 'gates')", [&] { split<3>(gates); });
  expect_error("concat: [batch, 3, 1] and [batch, 4, 1] differ beyond axis 2 (after layer 'gates')", [&] {
    concat({stack({gates}), stack({x})}, 2);
  });
  expect_error("stack: [batch, 4] cannot have a new axis 3 (after layer 'gates')", [&] { stack({gates, gates}, 3); });
  expect_error("pad: -1 and 0 places cannot be added to [batch, 4] (after layer 'gates')", [&] { pad(gates, 1, -1, 0); });
  expect_error("concat: pad: integer operands are only compared, not computed with: convert them to float first; indices are "
               "computed in the data", [&] { concat({i, i}); });
  expect_error("flip: along the sample axis of [batch, 4] it couples the samples of a batch (after layer 'gates')",
               [&] { flip(gates, 0); });
  expect_error("flip: axis -3 does not fit shape [batch, 4] (after layer 'gates')", [&] { flip(gates, -3); });
  expect_error("flip: integer operands are only compared, not computed with: convert them to float first; indices are "
               "computed in the data", [&] { flip(i, 1); });
  expect_error("cumsum: along the sample axis of [batch, 4] it couples the samples of a batch (after layer 'gates')",
               [&] { cumsum(gates, 0); });
  expect_error("cumsum: axis 2 does not fit shape [batch, 4] (after layer 'gates')", [&] { cumsum(gates, 2); });
  expect_error("cumsum: integer operands are only compared, not computed with: convert them to float first; indices are "
               "computed in the data", [&] { cumsum(i, 1); });
  expect_error("stack: concat: [batch, 1, 3] and [batch, 1, 4] differ beyond axis 1 (after layer 'gates')",
               [&] { stack({gates, x}, 1); });
  expect_error("concat: there are no parts", [] { concat(std::vector<Var>{}, 0); });
  expect_error("stack: there are no parts", [] { stack(std::vector<Var>{}, 0); });
  expect_error("concat: an operand is no value", [&] { concat({x, Var{}}); });
  EXPECT_LE(tape.size(), nodes + 4);  // the reshapes for stacks
}

}  // namespace slice_test
