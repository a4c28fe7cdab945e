// Every derivative rule against 6-point differences in double, first and second order, driven by the op lists.
#include <gtest/gtest.h>

#include <cstdio>

#include <gradual/check/test_op.hpp>

using namespace gradual;
using gradual::check::differentiable;
using gradual::check::Operands;

namespace {

/// A check whose mistakes are failures of the test that it runs in, and which prints what it ran.
struct Sweep : gradual::check::DerivativeCheck {
  const char* what;
  explicit Sweep(const char* w) : what(w) {}
  ~Sweep() {
    for (const std::string& mistake : mistakes) ADD_FAILURE() << mistake;
    std::printf("%zu %s x 2 modes (differences, eager bits) x shapes x 2 orders = %d runs, %d derivatives\n", functions.size(),
                what, runs, checks);
  }
};

template <class Op>
void sweep_map_op(Sweep& sweep) {
  if constexpr (differentiable<Op>) {
    gradual::check::sweep_op<Op>(sweep);
    EXPECT_TRUE(sweep.functions.contains(Op::name));
  }
}

template <class... Op>
void sweep_map_ops(Sweep& sweep, OpList<Op...>) {
  (sweep_map_op<Op>(sweep), ...);
  EXPECT_EQ(static_cast<int>(sweep.functions.size()), (differentiable<Op> + ...));
}

TEST(DerivativeSweep, EveryMapOp) {
  Sweep sweep("map ops");
  sweep_map_ops(sweep, MapOps{});
  EXPECT_GT(sweep.checks, 1500);
}

template <class... Op>
void expect_all_recorded(const std::set<std::string>& recorded, OpList<Op...>) {
  for (auto [name, wanted] : {std::pair(Op::name, differentiable<Op>)...}) {
    EXPECT_TRUE(!wanted || recorded.contains(name)) << name << " was not swept";
  }
}

TEST(DerivativeSweep, EveryStructuralOp) {
  Sweep sweep("structural functions");
  sweep.run("sum", [](auto in) { return square(sum(in[0], {0, 2})); }, {{2, 3, 4}});
  sweep.run("sum per sample", [](auto in) { return square(sum(in[0], {-1}, true)); }, {Shape::per_sample({2, 5})});
  sweep.run("sum of all", [](auto in) { return square(sum(in[0], {0, 1})); }, {{2, 40}});
  sweep.run("mean", [](auto in) { return exp(mean(in[0], {1}, true)) * in[0]; }, {{3, 4}});
  sweep.run("convert", [](auto in) {
    const DType own = in[0].dtype(), other = own == DType::f64 ? DType::f32 : DType::f64;
    return convert(square(convert(in[0], other)), own);
  }, {{7}});
  sweep.run("max", [](auto in) { return square(max(in[0], {1})); }, {{3, 4}});
  sweep.run("max of an inner axis", [](auto in) { return square(max(in[0], {1}, true)); }, {Shape::per_sample({3, 2})});
  sweep.run("min", [](auto in) { return square(min(in[0], {0, 2})); }, {{2, 3, 2}});
  sweep.run("prod", [](auto in) { return prod(in[0], {0, 2}); }, {{2, 3, 2}});
  sweep.run("prod, kept", [](auto in) { return square(prod(in[0], {-2}, true)); }, {Shape::per_sample({3, 2})});
  sweep.run("prod of all", [](auto in) { return prod(in[0], {0}); }, {{1}});
  sweep.run("prod where samples are not outermost", [](auto in) { return prod(transpose(in[0], {1, 0, 2}), {2}); },
            {Shape::per_sample({2, 3})});
  sweep.run("max with its index", [](auto in) { return square(max_with_index(in[0], 1).value); }, {{3, 4}});
  sweep.run("min with its index", [](auto in) { return square(min_with_index(in[0]).value); }, {Shape::per_sample({2, 3})});
  sweep.run("reshape", [](auto in) { return matmul(reshape(square(in[0]), Shape{6, 2}), in[1]); }, {{3, 4}, {2, 2}});
  sweep.run("flatten", [](auto in) { return matmul(flatten(in[0]), in[1]); }, {Shape::per_sample({2, 2}), {4, 2}});
  sweep.run("transpose", [](auto in) { return matmul(transpose(sigmoid(in[0]), {2, 0, 1}), in[1]); }, {{2, 3, 2}, {3, 2}});
  sweep.run("broadcast", [](auto in) { return square(broadcast(in[0], Shape{2, 3, 4})); }, {{3, 1}});
  sweep.run("slice", [](auto in) { return square(slice(in[0], 1, 1, 2)); }, {{2, 4, 3}});
  sweep.run("slice from the end", [](auto in) { return square(slice(in[0], -1, -2, 2)); }, {Shape::per_sample({2, 3})});
  sweep.run("pad", [](auto in) { return sin(pad(in[0], 1, 2, 1, 0.5)); }, {{2, 2, 3}});
  sweep.run("pad before samples that are not outermost",
            [](auto in) { return sin(pad(transpose(in[0], {1, 0, 2}), 0, 1, 2)); }, {Shape::per_sample({2, 3})});
  sweep.run("select", [](auto in) { return square(select(in[0], -2, 1)); }, {Shape::per_sample({3, 2})});
  sweep.run("concat", [](auto in) { return sin(concat({in[0], square(in[1]), in[0]}, 1)); },
            {Shape::per_sample({1, 2}), Shape::per_sample({3, 2})});
  sweep.run("stack", [](auto in) { return sin(stack({in[0], square(in[1])}, -1)); }, Operands(2, Shape::per_sample({3})));
  Shape pairs{2, 3}, threes{3, 3};
  pairs.batch_axis = threes.batch_axis = 0;
  sweep.run("uses", [](auto in) { return sin(uses(in[0], square(in[1]))); }, {pairs, threes});
  sweep.run("split", [](auto in) {
    const auto [a, b] = split<2>(in[0]);
    return a * sin(b);
  }, {{3, 4}});
  sweep.run("six axes", [](auto in) { return square(in[0]); }, {{1, 2, 1, 2, 1, 2}});
  sweep.run("no positions", [](auto in) { return in[0] * in[1]; }, {Shape::per_sample({0, 3}), {0, 3}});
  for (const Shape& repeated : {Shape{4, 1, 3}, Shape{4, 1, 1}, Shape{1, 3}, Shape{}})
    sweep.run("repeated along samples that are not outermost",
              [](auto in) { return transpose(in[0], {1, 0, 2}) * in[1]; }, {Shape::per_sample({4, 3}), repeated});
  sweep.run("repeated along samples that are innermost",
            [](auto in) { return transpose(in[0], {1, 2, 0}) * in[1]; }, {Shape::per_sample({4, 3}), {4, 1, 1}});
  sweep.run("repeated along samples and an axis before them", [](auto in) { return transpose(in[0], {1, 2, 0, 3}) * in[1]; },
            {Shape::per_sample({4, 2, 3}), {2, 1, 3}});
  for (bool tb : {false, true})
    sweep.run("samples that are columns", [=](auto in) { return square(matmul(transpose(in[0], {1, 0}), in[1], true, tb)); },
              {Shape::per_sample({4}), tb ? Shape{2, 4} : Shape{4, 2}});
  for (int flags = 0; flags < 4; ++flags) {
    const bool ta = flags & 1, tb = flags & 2;
    const auto product = [=](std::vector<Var> in) { return square(matmul(in[0], in[1], ta, tb)); };
    const std::string name = std::string("matmul ") + (ta ? "transposed" : "plain") + (tb ? " transposed" : " plain");
    sweep.run(name, product, {ta ? Shape{4, 3} : Shape{3, 4}, tb ? Shape{2, 4} : Shape{4, 2}});
    sweep.run(name + " stacked", product, {ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, tb ? Shape{2, 2, 4} : Shape{2, 4, 2}});
    sweep.run(name + " stacked per sample", product,
                {Shape::per_sample(ta ? Shape{4, 3} : Shape{3, 4}), Shape::per_sample(tb ? Shape{2, 4} : Shape{4, 2})});
  }
  sweep.run("rows times a matrix", [](auto in) { return square(matmul(in[0], in[1])); }, {{2, 3, 4}, {4, 2}});
  sweep.run("samples times weights", [](auto in) { return tanh(0.3 * matmul(in[0], in[1]) + in[2]); },
              {Shape::per_sample({4}), {4, 2}, {2}});
  sweep.run("positions times weights", [](auto in) { return square(matmul(in[0], in[1], false, true)); },
              {Shape::per_sample({2, 4}), {3, 4}});
  struct Images {
    Shape x, w;
    Walk walk;
  };
  for (const auto& [x, w, walk] : {Images{{1, 4, 5}, {2, 1, 3, 3}, {.padding = 1}}, Images{{2, 4, 4}, {3, 2, 2, 3}, {}},
                                   Images{{2, 6, 5}, {2, 2, 3, 2}, {.stride = 2, .padding = 1}},
                                   Images{{1, 5, 4}, {1, 1, 2, 2}, {.stride = 3}}, Images{{3, 2, 2}, {2, 3, 1, 1}, {}}})
    sweep.run("conv2d", [w = walk](auto in) { return square(conv2d(in[0], in[1], w)); }, {Shape::per_sample(x), w});
  for (const auto& [x, size, walk] : {std::tuple(Shape{2, 4, 5}, 2, Walk{}), {{1, 5, 4}, 3, Walk{.stride = 2, .padding = 1}},
                                      {{1, 4, 4}, 2, Walk{.stride = 1}}})
    sweep.run("max_pool2d", [size = size, w = walk](auto in) { return square(max_pool2d(in[0], size, w)); }, {Shape::per_sample(x)});
  sweep.run("gather", [](auto in) { return square(gather(in[0], in[1])); }, {{4, 3}, {Shape::per_sample({2}), 4}});
  sweep.run("softmax", [](auto in) { return softmax(in[0]); }, {{3, 4}});
  sweep.run("log_softmax", [](auto in) { return log_softmax(in[0]); }, {{3, 4}});
  sweep.run("logsumexp", [](auto in) { return logsumexp(in[0]); }, {Shape::per_sample({4})});
  sweep.run("log_sigmoid", [](auto in) { return log_sigmoid(in[0]); }, {{5}});
  sweep.run("pow of a number", [](auto in) { return pow(in[0], 3); }, {{5}});
  expect_all_recorded(sweep.ops, RowOps{});
  expect_all_recorded(sweep.ops,
                      OpList<Broadcast, Conv2d, Convert, Gather, Matmul, MaxPool2d, Pad, Reshape, Slice, Transpose>{});
  EXPECT_GT(sweep.checks, 900);
}

TEST(ReduceTo, AddsOnlyWhatWasRepeated) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4, 3}), DType::f64), one = input(tape, Shape::per_sample({}), DType::f64);
  reduce_to(transpose(reshape(one, Shape::per_sample({1})), {1, 0}), Shape::per_sample({}));
  EXPECT_STREQ(tape.nodes.back().op->name, "reshape");
  EXPECT_STREQ(tape[tape.size() - 2].op->name, "transpose");
  reduce_to(x, Shape{3});  // the positions of all samples are one sum, in blocks of 128
  EXPECT_STREQ(tape.nodes.back().op->name, "batch_sum");
  EXPECT_EQ(tape.nodes.back().in[0], x.id);
  EXPECT_EQ(tape.nodes.back().attributes.integer[0], 2);
  EXPECT_FALSE(reduce_to(Var{}, Shape{}).valid());
}

TEST(DerivativeSweep, EveryLoss) {
  Sweep sweep("losses");
  const Operands pair(2, Shape::per_sample({2, 3}));
  sweep.run("mse", [](auto in) { return mse(in[0], in[1]); }, pair);
  sweep.run("mae", [](auto in) { return mae(in[0], in[1]); }, pair);
  sweep.run("huber", [](auto in) { return huber(in[0], in[1], 0.7); }, pair);
  sweep.run("bce_with_logits", [](auto in) { return bce_with_logits(in[0], in[1]); }, pair);
  sweep.run("mse of numbers", [](auto in) { return mse(in[0], in[1]); }, Operands(2, Shape::per_sample({})));
  const auto labelled = [](auto in) { return cross_entropy(in[0], in[1]); };
  sweep.run("cross_entropy", labelled, {Shape::per_sample({4}), {Shape::per_sample({}), 4}});
  sweep.run("cross_entropy per token", labelled, {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  for (const int ignored : {-1, 2})
    sweep.run("cross_entropy of some", [=](auto in) { return cross_entropy(in[0], in[1], ignored).value; },
              {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  EXPECT_GT(sweep.checks, 300);
}

}  // namespace
