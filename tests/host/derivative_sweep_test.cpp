// Every derivative rule against 6-point differences in double, first and second order, driven by the list of every op.
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
    std::printf("swept: %zu %s x 2 modes (differences, eager bits) x shapes x 2 orders = %d runs, %d derivatives\n",
                functions.size(), what, runs, checks);
  }
};

template <class Op>
void sweep_one(Sweep& map_ops, Sweep& others) {
  static_assert(check::Swept<Op>, "an op that does not say how it is checked");
  if constexpr (requires { Op::sweep(others); }) Op::sweep(others);
  else if constexpr (differentiable<Op> && requires { Op::domain; }) check::sweep_op<Op>(map_ops);
  // or it is part of the derivative of another op
}

template <class... Op>
void sweep_all(Sweep& map_ops, Sweep& others, OpList<Op...>) {
  (sweep_one<Op>(map_ops, others), ...);
  for (const auto& [name, wanted] : {std::pair(Op::name, differentiable<Op>)...})
    EXPECT_TRUE(!wanted || map_ops.functions.contains(name) || others.ops.contains(name)) << name;
  for (const Sweep* sweep : {&map_ops, &others})
    for (const std::string& recorded : sweep->ops)
      EXPECT_TRUE(((recorded == Op::name) || ...)) << recorded << " is not in the list of every op";
}

/// An op that does not say where its derivative is checked, and one that does not say what its kink gives.
struct Unbounded {
  static constexpr const char* name = "unbounded";
  static constexpr int arity = 1;
  static constexpr Special specials[] = {{{1}, 1, {1}}};
  static constexpr Var vjp(Var g, Var, Var) { return g; }
};
struct Unspecial : Unbounded {
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
};
static_assert(!check::Swept<Unbounded> && !check::Swept<Unspecial> && check::Swept<Relu>);

TEST(DerivativeSweep, EveryOp) {
  Sweep map_ops("map ops"), others("calls of other ops");
  sweep_all(map_ops, others, EveryOp{});
  EXPECT_GT(map_ops.checks, 1500);
  EXPECT_GT(others.checks, 700);
}

TEST(DerivativeSweep, FunctionsMadeOfSeveral) {
  Sweep sweep("functions made of several");
  sweep.run("mean", [](auto in) { return exp(mean(in[0], {1}, true)) * in[0]; }, {{3, 4}});
  sweep.run("max with its index", [](auto in) { return square(max_with_index(in[0], 1).value); }, {{3, 4}});
  sweep.run("min with its index", [](auto in) { return square(min_with_index(in[0]).value); }, {Shape::per_sample({2, 3})});
  sweep.run("select", [](auto in) { return square(select(in[0], -2, 1)); }, {Shape::per_sample({3, 2})});
  sweep.run("concat", [](auto in) { return sin(concat({in[0], square(in[1]), in[0]}, 1)); },
            {Shape::per_sample({1, 2}), Shape::per_sample({3, 2})});
  sweep.run("stack", [](auto in) { return sin(stack({in[0], square(in[1])}, -1)); }, Operands(2, Shape::per_sample({3})));
  sweep.run("split", [](auto in) {
    const auto [a, b] = split<2>(in[0]);
    return a * sin(b);
  }, {{3, 4}});
  sweep.run("six axes", [](auto in) { return square(in[0]); }, {{1, 2, 1, 2, 1, 2}});
  sweep.run("no positions", [](auto in) { return in[0] * in[1]; }, {Shape::per_sample({0, 3}), {0, 3}});
  sweep.run("softmax", [](auto in) { return softmax(in[0]); }, {{3, 4}});
  sweep.run("log_softmax", [](auto in) { return log_softmax(in[0]); }, {{3, 4}});
  sweep.run("logsumexp", [](auto in) { return logsumexp(in[0]); }, {Shape::per_sample({4})});
  sweep.run("log_sigmoid", [](auto in) { return log_sigmoid(in[0]); }, {{5}});
  sweep.run("pow of a number", [](auto in) { return pow(in[0], 3); }, {{5}});
  EXPECT_GT(sweep.checks, 200);
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
