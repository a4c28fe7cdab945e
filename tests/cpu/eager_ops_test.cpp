// Every op, run as it is recorded, with first and second derivatives, against the reference: equal bits of every node.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

#include "../expect_reference.hpp"

namespace eager_ops_test {

using namespace gradual;

/// Returns numbers, ties, zeros, and numbers whose exponentials overflow or underflow.
template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed, bool positive) {
  std::vector<T> result(static_cast<std::size_t>(count));
  unsigned state = seed;
  for (std::size_t i = 0; i < result.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    T x = static_cast<T>(state >> 8) * T(0x1p-21) - T(4);
    if (i % 11 == 3) x = T(1.5);
    if (i % 13 == 5) x = i % 2 ? T(0) : -T(0);
    if (i % 17 == 7) x *= T(50);
    result[i] = positive ? std::abs(x) + T(0x1p-20) : x;
  }
  return result;
}

/// Appends the derivatives of Σ y · cotangent, and of the sum of their squares, by every operand.
void differentiate_twice(EagerTape& tape, Var y, Var cotangent, const std::vector<Var>& of) {
  std::vector<Var> g = gradients(reduce_to(y * cotangent, Shape{}), of);
  Var total = constant_like(reduce_to(y * cotangent, Shape{}), 0);
  for (Var v : g) total = total + reduce_to(v * v, Shape{});
  for (Var v : gradients(total, of)) ASSERT_EQ(v.tape, &tape);
}

/// Shapes of three operands that broadcast to the first, which has samples.
struct Shapes {
  std::int64_t batch;
  Shape of[3];
};
std::vector<Shapes> shapes() {
  const auto rows = [](std::initializer_list<std::int64_t> e) { return Shape::per_sample(Shape(e)); };
  return {{130, {rows({37}), rows({37}), rows({37})}},
          {5, {rows({3, 37}), Shape{37}, Shape{3, 1}}},
          {3, {rows({}), Shape{}, rows({})}},
          {1, {rows({1500}), rows({1}), Shape{1500}}},
          {129, {rows({2, 3}), rows({1, 3}), Shape{1, 1}}}};
}

template <class T>
Var given(EagerTape& tape, std::vector<T>& data, const Shape& shape) {
  if (!shape.batched()) return tape.input(Tensor::from(tape.values().device(), std::span<const T>(data), shape));
  Shape sample;
  for (int i = 1; i < shape.rank; ++i) sample.extent[sample.rank++] = shape.extent[i];
  return tape.input(data, sample);
}

template <class Op, class T>
void check_map() {
  bool positive = false;
  if constexpr (requires { Op::domain; }) positive = Op::domain.low > 0;
  for (const Shapes& s : shapes()) {
    EagerTape tape(Device::cpu(), s.batch);
    std::vector<T> data[4];
    Var in[3];
    for (int k = 0; k < 3; ++k) {
      data[k] = numbers<T>(s.of[k].elements(s.batch), static_cast<unsigned>(k) + 1, positive);
      in[k] = given(tape, data[k], s.of[k]);
    }
    data[3] = numbers<T>(s.of[0].elements(s.batch), 9, true);
    const Var cotangent = given(tape, data[3], s.of[0]);
    Var y;
    if constexpr (Op::arity == 1) y = elementwise<Op>(in[0]);
    else if constexpr (Op::arity == 2) y = elementwise<Op>(in[0], in[1]);
    else y = elementwise<Op>(in[0], in[1], in[2]);
    differentiate_twice(tape, y, cotangent, {in[0], in[1], in[2]});
    expect_reference<T>(tape, Op::name);
  }
}

template <class Op>
class EagerMapOp : public testing::Test {};
template <class... Op>
testing::Types<Op...> types_of(OpList<Op...>);
using MapTypes = decltype(types_of(MapOps{}));
TYPED_TEST_SUITE(EagerMapOp, MapTypes);

TYPED_TEST(EagerMapOp, HasTheBitsOfTheReference) {
  check_map<TypeParam, float>();
  check_map<TypeParam, double>();
}

using Function = std::function<Var(Var)>;

/// Checks f for a batch of samples of one shape, with derivatives, in both types.
void check(const std::string& name, std::int64_t batch, const Shape& sample, const Function& f) {
  const auto run = [&]<class T>(T) {
    EagerTape tape(Device::cpu(), batch);
    const Shape all = Shape::per_sample(sample);
    auto data = numbers<T>(all.elements(batch), 4, false);
    const Var x = tape.input(data, sample), y = f(x);
    auto weights = numbers<T>(y.shape().elements(batch), 5, false);
    const bool samples_first = y.shape().batch_axis == 0;
    differentiate_twice(tape, y, samples_first ? given(tape, weights, y.shape()) : constant_like(y, 0.7), {x});
    expect_reference<T>(tape, name);
  };
  run(float{});
  run(double{});
}

TEST(EagerRowOps, HaveTheBitsOfTheReference) {
  for (const auto& [batch, sample] :
       {std::pair{7, Shape{37}}, {130, Shape{10}}, {3, Shape{4, 100}}, {2, Shape{1}}, {1, Shape{3000}}}) {
    check("sum", batch, sample, [](Var x) { return sum(x, {-1}); });
    check("sum, kept", batch, sample, [](Var x) { return sum(x, {1}, true); });
    check("max", batch, sample, [](Var x) { return max(x, {-1}); });
    check("min", batch, sample, [](Var x) { return min(x, {1}); });
    check("softmax", batch, sample, [](Var x) { return softmax(x * 0.1); });
    check("logsumexp", batch, sample, [](Var x) { return logsumexp(x * 0.1); });
    check("argmax", batch, sample, [](Var x) { return where(argmax(x) == 1.0, sum(x, {-1}), max(x, {-1})); });
  }
}

TEST(EagerRowOps, ProductsAndPlacesHaveTheBitsOfTheReference) {
  for (const auto& [batch, sample] : {std::pair{7, Shape{37}}, {130, Shape{10}}, {3, Shape{4, 40}}, {2, Shape{1}}}) {
    check("prod", batch, sample, [](Var x) { return prod(x, {-1}); });
    check("max with its index", batch, sample, [](Var x) { return max_with_index(x, 1).value; });
    check("argmin", batch, sample, [](Var x) { return where(argmin(x) == 1.0, sum(x, {-1}), min_with_index(x).value); });
  }
}

TEST(EagerViews, HaveTheBitsOfTheReference) {
  check("transpose", 4, {3, 5, 2}, [](Var x) { return transpose(x, {0, 3, 1, 2}) * 2.0; });
  check("slice", 4, {3, 5, 2}, [](Var x) { return slice(x, 2, 1, 3) * 2.0; });
  check("one number of each sample", 4, {3}, [](Var x) { return x * slice(x, 1, 2, 1); });
  check("pad", 4, {3, 5, 2}, [](Var x) { return pad(x, 2, 4, 1, 0.5) * 2.0; });
  check("concat of places that samples lie behind", 4, {3, 5}, [](Var x) {
    const Var inward = transpose(x, {1, 0, 2});
    return concat({slice(inward, 0, 1, 2), inward}, 0);
  });
  check("batch inward", 4, {3, 5}, [](Var x) { return transpose(x, {1, 0, 2}); });
  check("reshape of a transpose", 4, {3, 5}, [](Var x) { return reshape(transpose(x, {0, 2, 1}), Shape::per_sample({15})); });
  check("sum of the first axis", 6, {33, 5}, [](Var x) { return sum(x, {1}); });
  check("iota", 6, {33, 5}, [](Var x) { return where(iota(x, 2) == iota(x, 1), x, x * 2.0); });
  check("a view of a view beside a number", 6, {3, 5},
        [](Var x) { return 0.5 * transpose(broadcast(sum(x, {2}, true), x.shape()), {0, 2, 1}); });
  check("a view of a view", 6, {3, 5}, [](Var x) { return transpose(broadcast(sum(x, {2}, true), x.shape()), {0, 2, 1}); });
}

TEST(EagerMatmul, HasTheBitsOfTheReference) {
  for (const std::int64_t batch : {1, 13, 64, 150})
    for (const auto& size : {std::pair{1, 1}, {3, 5}, {9, 17}, {64, 40}, {128, 33}, {300, 70}, {129, 16}, {70, 200}})
      for (const bool transposed : {false, true}) {
        const auto run = [&]<class T>(T) {
          const std::int64_t k = size.first, n = size.second;
          EagerTape tape(Device::cpu(), batch);
          auto x = numbers<T>(batch * k, 1, false), w = numbers<T>(k * n, 2, false), c = numbers<T>(batch * n, 3, false);
          const Var a = tape.input(x, {k}), b = given(tape, w, transposed ? Shape{n, k} : Shape{k, n});
          differentiate_twice(tape, matmul(a, b, false, transposed), tape.input(c, {n}), {a, b});
          expect_reference<T>(tape, "matmul " + std::to_string(batch) + "x" + std::to_string(k) + "x" + std::to_string(n));
        };
        run(float{});
        run(double{});
      }
}

TEST(EagerMatmul, OfStacksAndPositions) {
  check("rows of samples", 50, {3, 6}, [](Var x) { return matmul(x, transpose(x, {0, 2, 1})); });
  check("both transposed", 5, {4, 4}, [](Var x) { return matmul(x, x, true, true); });
  for (const std::int64_t positions : {3, 130}) {
    EagerTape tape(Device::cpu(), 9);
    auto x = numbers<float>(9 * positions * 6, 1, false), w = numbers<float>(6 * 20, 2, false);
    const Var a = tape.input(x, {positions, 6}), b = given(tape, w, Shape{6, 20});
    const Var y = matmul(a, b);
    differentiate_twice(tape, y, constant_like(y, 1), {a, b});
    expect_reference<float>(tape, "positions");
  }
}

TEST(EagerLosses, HaveTheBitsOfTheReference) {
  const auto run = [&]<class T>(T) {
    EagerTape tape(Device::cpu(), 70);
    auto x = numbers<T>(70 * 11, 1, false);
    std::vector<std::int32_t> label(70);
    for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i % 11);
    const Var scores = tape.input(x, {11}), classes = tape.input(label);
    const Var loss = cross_entropy(scores * 0.1, classes) + where(argmax(scores) == classes, T(1), sum(scores * 0.01, {-1}));
    gradients(loss, {scores});
    expect_reference<T>(tape, "cross entropy");
  };
  run(float{});
  run(double{});
}

TEST(EagerPooling, OfImagesWithoutChannelsIsEmpty) {
  EagerTape tape(Device::cpu(), 2);
  const std::vector<float> nothing;
  const Var images = tape.input(nothing, {0, 4, 4}), rows = tape.input(nothing, {0, 4});
  for (const Var pooled : {avg_pool2d(images, 2), max_pool2d(images, 2), avg_pool1d(rows, 2), max_pool1d(rows, 2)}) {
    EXPECT_EQ(value(pooled).values<float>().size(), 0u);
    EXPECT_EQ(value(gradients(sum(pooled, {1}), {pooled.shape().rank == 4 ? images : rows})[0]).values<float>().size(), 0u);
  }
}

TEST(EagerRandomOps, DrawsTheNumbersOfTheReference) {
  EagerTape tape(Device::cpu(), 40);
  const Randomness random{true, 3, 2, nullptr, 17};
  tape.values().bind_random(random);
  auto x = numbers<float>(40 * 33, 1, false);
  const Var in = tape.input(x, {33});
  gradients(dropout(dropout(in, 0.25), 0.5), {in});
  expect_reference<float>(tape, "dropout", random);
}

/// An op that is in no list.
struct Cubed {
  static constexpr const char* name = "cubed";
  static constexpr int arity = 1;
  template <class T>
  static constexpr T apply(T x) {
    return x * x * x;
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * (3.0 * x * x); }
};

TEST(EagerOwnOp, RunsThroughItsFunctor) {
  check("own op", 40, {33}, [](Var x) { return elementwise<Cubed>(x); });
}

}  // namespace eager_ops_test
