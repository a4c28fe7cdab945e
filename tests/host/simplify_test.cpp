// Simplification: values that are equal to the bit become one node; values that differ in anything stay.
#include <gtest/gtest.h>

#include <gradual/autodiff/simplify.hpp>

namespace simplify_test {

using namespace gradual;

struct Simplify : testing::Test {
  Tape tape;
  Var x = input(tape, Shape::per_sample({3}), DType::f32);

  /// Returns the node that each of the values becomes, and the number of nodes.
  std::pair<std::vector<int>, int> simplified(std::initializer_list<Var> values) {
    for (const Var v : values) tape.roots.push_back({Role::value, static_cast<int>(tape.roots.size()), v.id});
    const Tape result = simplify(tape);
    std::vector<int> nodes;
    for (const Root& root : result.roots) nodes.push_back(root.node);
    return {nodes, result.size()};
  }
};

TEST_F(Simplify, IdentitiesAreWhatTheyAreEqualTo) {
  const Var one = constant_like(x, 1), two = constant_like(x, 2);
  const auto [nodes, size] =
      simplified({x, x * one, one * x, x / one, stop_gradient(x), reshape(x, x.shape()), x * two, two * x, one / x});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(nodes[static_cast<std::size_t>(i)], nodes[0]) << i;
  for (int i = 6; i < 9; ++i) EXPECT_NE(nodes[static_cast<std::size_t>(i)], nodes[0]) << i;
  EXPECT_EQ(size, 1 + 2 + 3);
}

TEST_F(Simplify, EqualComputationsAreOne) {
  const Var y = exp(x);
  const auto [nodes, size] = simplified({y + x, exp(x) + x, x + y, sum(y, {1}), sum(exp(x), {1}), max(y, {1})});
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_NE(nodes[0], nodes[2]);  // NaNs may differ
  EXPECT_EQ(nodes[3], nodes[4]);
  EXPECT_NE(nodes[3], nodes[5]);
  EXPECT_EQ(size, 2 + 2 + 2);
}

TEST_F(Simplify, WhatDiffersInOneOperandOrNumberStays) {  // though many collide in the table
  for (int i = 0; i < 300; ++i) {
    const Var number = constant_like(x, i + 2);
    for (const Var v : {number + x, x + number, where(x, number, x), where(x, x, number), where(number, x, x)})
      tape.roots.push_back({Role::value, static_cast<int>(tape.roots.size()), v.id});
  }
  const int all = tape.size();
  EXPECT_EQ(simplify(tape).size(), all);
}

TEST_F(Simplify, ReshapesOfReshapesAreReshapesOfTheFirst) {
  const Var m = input(tape, Shape::per_sample({4, 3}), DType::f32);
  const Var flat = reshape(m, Shape::per_sample({12})), through = reshape(reshape(m, Shape::per_sample({2, 6})), flat.shape());
  const auto [nodes, size] = simplified({flat, through, reshape(flat, m.shape())});
  EXPECT_EQ(nodes[0], nodes[1]);
  EXPECT_EQ(nodes[2], 0);
  EXPECT_EQ(size, 2);
}

TEST_F(Simplify, ViewsOfConstantsAreConstants) {  // which need no memory, and are identities of a product
  const Var m = input(tape, Shape::per_sample({4, 3}), DType::f32), one = constant_like(select(m, 2, 0), 1);
  const Var column = reshape(one, Shape::per_sample({4, 1})), far = stop_gradient(constant_like(column, 0));
  const auto [nodes, size] =
      simplified({m, m * broadcast(column, m.shape()), m + broadcast(far, m.shape()), m + constant_like(m, 0)});
  EXPECT_EQ(nodes[1], nodes[0]);
  EXPECT_EQ(nodes[2], nodes[3]);
  EXPECT_EQ(size, 1 + 2);

  const Var all = broadcast(column, m.shape());
  tape.roots = {{Role::value, 0, transpose(all, {0, 2, 1}).id}, {Role::value, 1, slice(all, 1, 2, 1).id}};
  const Tape result = simplify(tape);
  EXPECT_EQ(result.size(), 2);
  for (const Root& root : result.roots) EXPECT_TRUE(is<Constant>(result[root.node]));
}

TEST_F(Simplify, PaddingAroundNothingIsAConstant) {
  const Var m = input(tape, Shape::per_sample({4, 3}), DType::f32);
  const Var nothing = broadcast(slice(exp(sin(cos(m))), 2, 0, 1), Shape::per_sample({4, 0}));
  const Var padded = pad(nothing, 2, 1, 0, 5);
  const auto [nodes, size] = simplified({m, padded, constant_like(padded, 5)});
  EXPECT_EQ(nodes[1], nodes[2]);
  EXPECT_EQ(size, 2);
  tape.roots = {{Role::value, 0, pad(slice(m, 2, 0, 1), 2, 1, 0, 5).id}};
  EXPECT_EQ(simplify(tape).size(), 3);
  tape.roots = {{Role::value, 0, padded.id}};
  const Tape result = simplify(tape);
  ASSERT_EQ(result.size(), 1);
  EXPECT_TRUE(is<Constant>(result[0]));
  EXPECT_EQ(result[0].in[0], -1);
}

TEST_F(Simplify, TransposedRepetitionsAreRepetitionsAlongOtherAxes) {
  const auto turned = [&](Var v, const Shape& to, Axes permutation) {
    tape.roots = {{Role::value, 0, transpose(broadcast(v, to), permutation).id}};
    const Tape result = simplify(tape);
    const Node& node = result[result.roots[0].node];
    return std::pair(std::string_view(node.op->name), result[node.in[0]].shape);
  };
  const auto rows = [](auto... extents) { return Shape::per_sample({extents...}); };
  using Turned = std::pair<std::string_view, Shape>;
  const Var column = input(tape, rows(3, 1), DType::f32);
  Shape samples_inside{1, 1, 3};
  samples_inside.batch_axis = 1;
  EXPECT_EQ(turned(column, rows(3, 4), {0, 2, 1}), Turned("broadcast", rows(1, 3)));
  EXPECT_EQ(turned(column, rows(3, 4), {2, 0, 1}), Turned("broadcast", samples_inside));
  EXPECT_EQ(turned(column, rows(3, 4), {1, 0, 2}), Turned("transpose", rows(3, 4)));
  EXPECT_EQ(turned(input(tape, Shape{3}, DType::f32), Shape{4, 3}, {1, 0}), Turned("broadcast", Shape{3, 1}));
}

TEST_F(Simplify, BackwardMakesMasksOfIndicesAgain) {
  const Var m = input(tape, Shape::per_sample({4, 4}), DType::f32), label = input(tape, Shape::per_sample({4, 1}), DType::i32);
  const Var later = iota(m, 1) < iota(m, 2), negative = m < 0.0, labelled = broadcast(label, m.shape()) == iota(m, 2);
  tape.roots = {{Role::value, 0, (later + m).id}, {Role::value, 1, (negative + m).id}, {Role::value, 2, (labelled + m).id}};
  tape.first_adjoint = tape.size();
  for (const Var v : {later * m, later - m, negative * m, labelled * m})
    tape.roots.push_back({Role::gradient, 0, v.id});
  const Tape result = simplify(tape);
  const auto mask = [&](std::size_t root) { return result[result.roots[root].node].in[0]; };
  EXPECT_LT(mask(0), result.first_adjoint);
  EXPECT_GE(mask(3), result.first_adjoint);
  EXPECT_EQ(mask(4), mask(3));
  EXPECT_EQ(mask(5), mask(1));
  EXPECT_LT(mask(2), result.first_adjoint);
  EXPECT_GE(mask(6), result.first_adjoint);
}

TEST_F(Simplify, BackwardReadsWhatIsOfNumbersOrOfNoSamples) {
  const Var m = input(tape, Shape::per_sample({4, 4}), DType::f32), number = input(tape, Shape::per_sample({1, 4}), DType::f32);
  const Var p = input(tape, Shape{4, 4}, DType::f32);
  const Var of_number = broadcast(number, m.shape()) + 1.0, of_no_samples = iota(p, 0) < iota(p, 1);
  tape.roots = {{Role::value, 0, (of_number + m).id}, {Role::value, 1, (of_no_samples + p).id}};
  tape.first_adjoint = tape.size();
  for (const Var v : {of_number * m, of_no_samples * p}) tape.roots.push_back({Role::gradient, 0, v.id});
  const Tape result = simplify(tape);
  for (const std::size_t root : {0u, 1u})
    EXPECT_EQ(result[result.roots[root].node].in[0], result[result.roots[root + 2].node].in[0]);
}

TEST_F(Simplify, AProductReadsTheMaskThatLiesInMemory) {
  const Var m = input(tape, Shape::per_sample({4, 4}), DType::f32), later = iota(m, 1) < iota(m, 2);
  tape.roots = {{Role::value, 0, (later + m).id}};
  tape.first_adjoint = tape.size();
  tape.roots.push_back({Role::gradient, 0, matmul(later, m).id});
  const Tape result = simplify(tape);
  EXPECT_EQ(result[result.roots[1].node].in[0], result[result.roots[0].node].in[0]);
}

TEST_F(Simplify, WhatNoRootNeedsIsLeftOut) {
  exp(log(x));
  const auto [nodes, size] = simplified({tanh(x)});
  EXPECT_EQ(size, 2);
  EXPECT_EQ(nodes[0], 1);
}

}  // namespace simplify_test
