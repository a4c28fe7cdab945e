// Checks every derivative rule against 6-point differences in double, first and second order, and values and gradients in
// float against those in double, for the list of every op.
#include <gtest/gtest.h>

#include <cstdio>
#include <regex>
#include <sstream>
#include <utility>

#include <gradual/check/test_op.hpp>

#include "../error_of.hpp"

namespace derivative_sweep_test {

using namespace gradual;
using gradual::detail::Differentiable;
using gradual::op_checks::Operand;
using gradual::op_checks::Operands;

/// A check that reports its mistakes as failures of the running test and prints what it ran.
struct Sweep : gradual::op_checks::DerivativeCheck {
  const char* what;
  explicit Sweep(const char* w) : what(w) {}
  ~Sweep() {
    for (const std::string& mistake : mistakes) ADD_FAILURE() << mistake;
    std::printf(
        "swept: %zu %s x 4 modes (differences, float, eager bits of both) x shapes x 2 orders = %d runs, %d derivatives\n",
        functions.size(), what, runs, checks);
  }
};

template <class Op>
void sweep_one(Sweep& map_ops, Sweep& others) {
  static_assert(op_checks::Swept<Op>, "an op that does not say how it is checked");
  if constexpr (requires { Op::sweep(others); }) Op::sweep(others);
  else if constexpr (Differentiable<Op> && requires { Op::domain; }) op_checks::sweep_op<Op>(map_ops);
  // otherwise it is covered as part of the derivative of another op
}

template <class... Op>
void sweep_all(Sweep& map_ops, Sweep& others, OpList<Op...>) {
  (sweep_one<Op>(map_ops, others), ...);
  for (const auto& [name, wanted] : {std::pair(Op::name, Differentiable<Op>)...})
    EXPECT_TRUE(!wanted || map_ops.functions.contains(name) || others.ops.contains(name)) << name;
  for (const Sweep* sweep : {&map_ops, &others})
    for (const std::string& recorded : sweep->ops)
      EXPECT_TRUE(((recorded == Op::name) || ...)) << recorded << " is not in the list of every op";
}

/// An op that does not state the domain to check its derivative in; `Unspecial` does not state its value at its kink.
struct Unbounded {
  static constexpr const char* name = "unbounded";
  static constexpr int arity = 1;
  static constexpr Special specials[] = {{{1}, 1, {1}}};
  static constexpr Var vjp(Var g, Var, Var) { return g; }
};
struct Unspecial : Unbounded {
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
};
static_assert(!op_checks::Swept<Unbounded> && !op_checks::Swept<Unspecial> && op_checks::Swept<Relu>);

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
  sweep.run("pick", [](auto in) { return square(pick(in[0], in[1])); },
            {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  sweep.run("one_hot", [](auto in) { return square(matmul(convert(one_hot(in[1], 4), in[0].dtype()), in[0])); },
            {Shape::per_sample({4, 3}), {Shape::per_sample({2}), 4}});
  sweep.run("select", [](auto in) { return square(select(in[0], -2, 1)); }, {Shape::per_sample({3, 2})});
  sweep.run("concat", [](auto in) { return sin(concat({in[0], square(in[1]), in[0]}, 1)); },
            {Shape::per_sample({1, 2}), Shape::per_sample({3, 2})});
  sweep.run("stack", [](auto in) { return sin(stack({in[0], square(in[1])}, -1)); }, Operands(2, Shape::per_sample({3})));
  sweep.run("split", [](auto in) {
    const auto [a, b] = split<2>(in[0]);
    return a * sin(b);
  }, {{3, 4}});
  sweep.run("conv1d", [](auto in) { return square(conv1d(in[0], in[1], {.stride = 2, .padding = 1, .dilation = 3})); },
            {Shape::per_sample({2, 9}), {3, 2, 3}});
  for (const auto& [walk, more] : {std::pair(Walk{.stride = 2, .padding = 1}, PerAxis(1)),
                                   std::pair(Walk{.padding = 1, .dilation = 2, .groups = 2}, PerAxis(0)),
                                   std::pair(Walk{.stride = {1, 3}, .padding = {1, 2}, .dilation = {3, 1}}, PerAxis(0, 2))})
    sweep.run("conv_transpose2d", [w = walk, m = more](auto in) { return square(conv_transpose2d(in[0], in[1], w, m)); },
              {Shape::per_sample({2, 3, 2}), {2, 2, 2, 3}});
  sweep.run("conv_transpose1d", [](auto in) { return square(conv_transpose1d(in[0], in[1], {.stride = 3, .padding = 1})); },
            {Shape::per_sample({2, 4}), {2, 3, 3}});
  sweep.run("max_pool1d", [](auto in) { return square(max_pool1d(in[0], 3, {.stride = 2, .padding = 1})); },
            {Shape::per_sample({2, 6})}, Domain{.low = -3, .high = 3, .kink_at_ties = true});
  sweep.run("avg_pool2d", [](auto in) { return square(avg_pool2d(in[0], 2, {.stride = 1, .padding = 1})); },
            {Shape::per_sample({2, 3, 4})});
  sweep.run("avg_pool2d", [](auto in) { return square(avg_pool2d(in[0], {1, 3}, {.stride = {1, 2}, .padding = {0, 1}})); },
            {Shape::per_sample({2, 2, 6})});
  sweep.run("avg_pool1d", [](auto in) { return square(avg_pool1d(in[0], 3)); }, {Shape::per_sample({2, 7})});
  sweep.run("six axes", [](auto in) { return square(in[0]); }, {{1, 2, 1, 2, 1, 2}});
  sweep.run("no positions", [](auto in) { return in[0] * in[1]; }, {Shape::per_sample({0, 3}), {0, 3}});
  sweep.run("softmax", [](auto in) { return softmax(in[0]); }, {{3, 4}});
  sweep.run("log_softmax", [](auto in) { return log_softmax(in[0]); }, {{3, 4}});
  sweep.run("logsumexp", [](auto in) { return logsumexp(in[0]); }, {Shape::per_sample({4})});
  sweep.run("cumsum", [](auto in) { return sin(cumsum(in[0], 1)); }, {{2, 5, 3}});
  sweep.run("cumsum of one place", [](auto in) { return sin(cumsum(in[0], -1)); }, {{3, 1}});
  sweep.run("cumsum beside samples that are not outermost",
            [](auto in) { return sin(cumsum(transpose(in[0], {1, 0}), 0)); }, {Shape::per_sample({4})});
  sweep.run("flip", [](auto in) { return sin(flip(in[0], 1)) * in[0]; }, {{2, 5, 3}});
  sweep.run("flip beside samples that are not outermost",
            [](auto in) { return sin(flip(transpose(in[0], {1, 0}), 0)) * transpose(in[0], {1, 0}); }, {Shape::per_sample({4})});
  sweep.run("flip of one of many axes", [](auto in) { return sin(flip(in[0], 2)) * in[0]; }, {Shape::per_sample({2, 3, 2, 2})});
  sweep.run("flip between samples and others", [](auto in) {
    const Var x = transpose(in[0], {1, 0, 2, 3});
    return sin(flip(x, 2)) * x;
  }, {Shape::per_sample({2, 3, 2})});
  sweep.run("log_sigmoid", [](auto in) { return log_sigmoid(in[0]); }, {{5}});
  sweep.run("log_ndtr", [](auto in) { return log_ndtr(in[0]); }, {{5}});
  sweep.run("log_rising", [](auto in) { return log_rising(in[0], in[1]); }, {{40}, {40}}, Domain{0.3, 20});
  sweep.run("log_rising of a number", [](auto in) { return log_rising(exp(in[0]), 0.5); }, {{5}});
  sweep.run("pow of a number", [](auto in) { return pow(in[0], 3); }, {{5}});
  EXPECT_GT(sweep.checks, 200);
}

/// Operands of thousands of numbers, each checked along two directions, in both orders.
TEST(DerivativeSweep, LargeShapes) {
  Sweep sweep("calls of large shapes");
  const Domain smooth{-1, 1}, near_one{0.99, 1.01}, far_apart{.low = -300, .high = 300, .kink_at_ties = true};
  const Operand rows = Shape::per_sample({1000}), image = Shape::per_sample({3, 16, 16});
  sweep.run("sum", [](auto in) { return sin(0.05 * sum(in[0], {1})); }, {rows}, smooth);
  sweep.run("sum of samples", [](auto in) { return sin(in[0] * in[1]); }, {rows, {1000}}, smooth);
  sweep.run("prod", [](auto in) { return prod(in[0], {1}); }, {Shape::per_sample({40})}, near_one);
  sweep.run("cumsum", [](auto in) { return sin(0.05 * cumsum(in[0], 1)); }, {rows}, smooth);
  sweep.run("max", [](auto in) { return max(in[0], {1}); }, {rows}, far_apart);
  sweep.run("min", [](auto in) { return min(in[0], {1}); }, {rows}, far_apart);
  sweep.run("softmax", [](auto in) { return softmax(in[0]); }, {rows}, smooth);
  sweep.run("log_softmax", [](auto in) { return log_softmax(in[0]); }, {{7, 300}}, smooth);
  sweep.run("matmul", [](auto in) { return sin(0.1 * matmul(in[0], in[1])); }, {{40, 150}, {150, 33}}, smooth);
  sweep.run("matmul of samples", [](auto in) { return sin(0.1 * matmul(in[0], in[1])); }, {rows, {1000, 3}}, smooth);
  sweep.run("conv2d", [](auto in) { return sin(0.1 * conv2d(in[0], in[1], {.padding = 1})); }, {image, {2, 3, 2, 3}}, smooth);
  sweep.run("max_pool2d", [](auto in) { return max_pool2d(in[0], 2); }, {image}, far_apart);
  EXPECT_GT(sweep.checks, 60);
}

/// Right in double, wrong by a thousandth in float.
struct Sloppy {
  static constexpr const char* name = "sloppy";
  static constexpr int arity = 1;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {{{0}, 0, {1}}};
  template <class T>
  static constexpr T apply(T x) {
    return math::tanh(x) * (sizeof(T) == 4 ? T(1.001) : T(1));
  }
  static constexpr Var vjp(Var g, Var, Var y) { return g * (1.0 - y * y); }
};
/// Only the gradient is wrong by a thousandth in float.
struct SloppyGradient : Sloppy {
  static constexpr const char* name = "sloppy gradient";
  template <class T>
  static constexpr T apply(T x) {
    return math::tanh(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) {
    const Var y = elementwise<Sloppy>(x);
    return g * (1.0 - y * y);
  }
};
/// The rule is wrong at one shape.
struct WrongAtAShape : SloppyGradient {
  static constexpr const char* name = "wrong at a shape";
  static inline Shape shape;
  static Var vjp(Var g, Var, Var y) { return (y.shape() == shape ? 2.0 : 1.0) * g * (1.0 - y * y); }
};
/// The rule is wrong where both operands are the same value.
struct WrongWhereRepeated {
  static constexpr const char* name = "wrong where repeated";
  static constexpr int arity = 2;
  static constexpr Domain domain{-3, 3};
  template <class T>
  static constexpr T apply(T a, T b) {
    return a * b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) { return {{g * b, a.id == b.id ? Var{} : g * a}}; }
};

/// A product whose rule has the wrong sign for one operand.
struct WrongSign : WrongWhereRepeated {
  static constexpr const char* name = "wrong sign";
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) { return {{g * b, -(g * a)}}; }
};
/// NaN in half of its stated domain.
struct Undefined {
  static constexpr const char* name = "undefined";
  static constexpr int arity = 1;
  static constexpr Domain domain{-3, 3};
  template <class T>
  static constexpr T apply(T x) {
    return math::log(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g / x; }
};

/// The rule gives NaN at 0, where the op has a derivative.
struct WrongAtZero : Undefined {
  static constexpr const char* name = "wrong at zero";
  template <class T>
  static constexpr T apply(T x) {
    return math::tanh(x);
  }
  static constexpr Var vjp(Var g, Var x, Var y) { return g * (x - x * y * y) / x; }
};
/// The rule is wrong near one end of the domain.
struct WrongAtTheEnd : WrongAtZero {
  static constexpr const char* name = "wrong at the end";
  static constexpr Var vjp(Var g, Var x, Var y) { return g * where(x > 2.99, 1.0, 1.0 - y * y); }
};

/// Its domain is so narrow that differences would cross the kink.
struct NarrowRamp {
  static constexpr const char* name = "narrow ramp";
  static constexpr int arity = 1;
  static constexpr Domain domain{.low = -0.25, .high = 0.25, .kink_at_zero = true};
  template <class T>
  static constexpr T apply(T x) {
    return math::select(x > T(0), x, T(0));
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * (x > 0.0); }
};

TEST(DerivativeSweep, RefusesADomainWithoutRoomForDifferences) {
  EXPECT_EQ(error_of<OptionError>([] { test_op<NarrowRamp>(); }),
            "test_op: the domain from -0.25 to 0.25 is too narrow for differences, which need 0.3 from a kink at zero, and "
            "0.01 between ties");
}

TEST(DerivativeSweep, SaysWhatIsWrongInALineForEachOperand) {
  const auto wrong = test_op<WrongSign>();
  ASSERT_EQ(wrong.mistakes.size(), 1u);
  EXPECT_TRUE(std::regex_match(
      wrong.mistakes[0], std::regex("wrong sign \\[\\] \\[\\], first order, operand 1, element 0, at \\((.*), (.*)\\): "
                                    "derivative (-?)[0-9.]+, differences say (-?)[0-9.]+")))
      << wrong.mistakes[0];
  const auto nowhere = test_op<Undefined>();
  ASSERT_FALSE(nowhere.mistakes.empty());
  EXPECT_LT(nowhere.mistakes.size(), 5u);
  std::ostringstream text;
  text << nowhere;
  EXPECT_NE(text.str().find("is nan, in double too: is it defined everywhere in its domain?"), std::string::npos) << text.str();
}

TEST(DerivativeSweep, FindsWrongOps) {
  EXPECT_FALSE(test_op<Sloppy>().mistakes.empty());
  EXPECT_FALSE(test_op<SloppyGradient>().mistakes.empty());
  EXPECT_FALSE(test_op<WrongWhereRepeated>().mistakes.empty());
  EXPECT_FALSE(test_op<WrongAtZero>().mistakes.empty());
  EXPECT_FALSE(test_op<WrongAtTheEnd>().mistakes.empty());
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{15}, Shape{16}, Shape{17}}) {
    WrongAtAShape::shape = shape;
    EXPECT_FALSE(test_op<WrongAtAShape>().mistakes.empty()) << (Message() << "at " << shape).string();
  }
  WrongAtAShape::shape = Shape{6};  // a shape that no check uses: right wherever it is checked
  const auto right = test_op<WrongAtAShape>();
  EXPECT_TRUE(right.mistakes.empty()) << right.mistakes.front();
}

TEST(ReduceTo, AddsOnlyWhatWasRepeated) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4, 3}), DType::f64), one = input(tape, Shape::per_sample({}), DType::f64);
  reduce_to(transpose(reshape(one, Shape::per_sample({1})), {1, 0}), Shape::per_sample({}));
  EXPECT_STREQ(tape.nodes.back().op->name, "reshape");
  EXPECT_STREQ(tape[tape.size() - 2].op->name, "transpose");
  reduce_to(x, Shape{3});  // one sum over the positions of all samples, in blocks of 128
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
  sweep.run("bce_with_logits of a number", [](auto in) { return bce_with_logits(in[0], in[1], 3); }, pair);
  sweep.run("bce_with_logits by class", [](auto in) { return bce_with_logits(in[0], in[1], in[2]); },
            {Shape::per_sample({2, 3}), Shape::per_sample({2, 3}), {3}});
  sweep.run("mse of numbers", [](auto in) { return mse(in[0], in[1]); }, Operands(2, Shape::per_sample({})));
  const auto labelled = [](auto in) { return cross_entropy(in[0], in[1]); };
  sweep.run("cross_entropy", labelled, {Shape::per_sample({4}), {Shape::per_sample({}), 4}});
  sweep.run("cross_entropy per token", labelled, {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  sweep.run("cross_entropy with smoothing", [](auto in) { return cross_entropy(in[0], in[1], {.label_smoothing = 0.3}); },
            {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  for (const int ignored : {-1, 2})
    sweep.run("cross_entropy of some", [=](auto in) { return cross_entropy(in[0], in[1], ignored).value; },
              {Shape::per_sample({2, 4}), {Shape::per_sample({2}), 4}});
  EXPECT_GT(sweep.checks, 300);
}

}  // namespace derivative_sweep_test
