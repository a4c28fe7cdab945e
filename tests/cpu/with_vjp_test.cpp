// Derivatives of one's own: `with_vjp` gives a value's adjoint to operands by a rule, compiled, eagerly and in constants to the
// same bits, and costs nothing forward. Holds the code of docs/guides/write-an-op.md.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include <gradual/check/test_model.hpp>
#include <gradual/check/test_op.hpp>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace with_vjp_test {

using namespace both_ways;

constexpr Var spike(Var u) {  // 1 where u > 0, else 0, learned as if it were a soft step
  return with_vjp(u > 0.0, {u}, [](Var g, Var in, Var) { return g / square(1.0 + abs(in)); });
}

constexpr Var reversed(Var x, double strength) {  // x, whose gradient goes back with the other sign
  return with_vjp(x, {x, constant_like(x, strength)}, [](Var g, Var, Var by, Var) { return Adjoints<2>{{-by * g, {}}}; });
}

constexpr Var clipped(Var x) {  // x, whose gradient stays within 0.25
  return with_vjp(x, {x}, [](Var g, Var, Var) { return clamp(g, -0.25, 0.25); });
}

constexpr Var length(Var x) {  // of rows; at 0 its derivative is 0
  return with_vjp(sqrt(sum(x * x, {1}, true)), {x}, [](Var g, Var in, Var y) { return g * in / where(y == 0.0, 1.0, y); });
}

constexpr Var quantized(Var w) {  // multiples of 1/8, learned straight through
  return with_vjp(round(w * 8.0) / 8.0, {w}, [](Var g, Var, Var) { return g; });
}

struct Equilibrium {  // z = f(z, x), whose derivative is found like z: of w = g + w·∂f/∂z, f gives it to x and the weights
  nn::Linear of_state, of_input;
  constexpr explicit Equilibrium(Scope s) : of_state(s / "state", 3, 3), of_input(s / "input", 2, 3) {}
  constexpr Var f(Var z, Var x) const { return tanh(0.4 * of_state(z) + of_input(x)); }
  constexpr Var operator()(Var x) const {
    Var z = tanh(of_input(x));
    for (int i = 0; i < 12; ++i) z = f(z, x);
    const Var at = stop_gradient(z), once_more = f(at, x);
    return with_vjp(z, {once_more, at}, [](Var g, Var f_of_z, Var fixed, Var) {
      Var w = g;
      for (int i = 0; i < 12; ++i) w = g + vjp(f_of_z, {fixed}, w)[0];
      return Adjoints<2>{{w, {}}};
    });
  }
};

struct Implicit {
  Equilibrium state;
  nn::Linear output;
  constexpr explicit Implicit(Scope s) : state(s / "equilibrium"), output(s / "output", 3, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(state(x)), y)}; }
};
using ImplicitNet = Compiled<Implicit, Inputs<f32[2], f32[1]>>;

/// Rules for samples, for parameters, for both, for a parameter in each sample, and a rule inside another.
struct Ruled {
  Equilibrium state;
  nn::Linear hidden;
  Parameter weight, threshold, gate, shift;
  constexpr explicit Ruled(Scope s)
      : state(s / "equilibrium"), hidden(s / "hidden", 3, 6),
        weight((s / "output").parameter("weight", Shape{6, 2}, init::uniform(0.7))),
        threshold((s / "output").parameter("threshold", Shape{6}, init::constant(0.1))),
        gate(s.parameter("gate", Shape{2}, init::constant(0.9))), shift(s.parameter("shift", Shape{}, init::constant(0.3))) {}
  constexpr Var predict(Var x) const {
    const Var h = clipped(hidden(reversed(state(x), 0.5))), level = threshold.on(x);
    const Var above = with_vjp(h > level, {h, level}, [](Var g, Var in, Var least, Var) {
      const Var slope = spike(in - least) + 0.5;
      return Adjoints<2>{{g * slope, -g * slope}};
    });
    const Var w = quantized(weight.on(x));
    const Var product = with_vjp(matmul(above, w), {above, w}, [](Var g, Var a, Var b, Var) {
      const Var rough = round(g * 64.0) / 64.0;
      return Adjoints<2>{{matmul(rough, b, false, true), matmul(a, rough, true)}};
    });
    const Var size = gate.on(x), zero = shift.on(x);
    return with_vjp(product * size + x * x * zero, {product, size, x, zero}, [](Var g, Var p, Var by, Var in, Var of, Var) {
      return Adjoints<4>{{g * by, g * p, 2.0 * g * in * of, g * square(in)}};
    });
  }
  constexpr Loss loss(Var x, Var y) const { return {mse(predict(x), y)}; }
};
using RuledNet = Compiled<Ruled, Inputs<f32[2], f32[2]>>;

TEST(WithVjp, BitsAreTheSameCompiledAndEagerHoweverWindowsAreSplit) {
  const Samples<float> x{numbers(samples * 2), {2}}, y{numbers(samples * 2, 2), {2}};
  const auto whole = train_compiled<RuledNet>({60}, 1, x, y);
  EXPECT_EQ(train_compiled<RuledNet>({7, 13, 1, 60, 9}, 1, x, y), whole);
  EXPECT_EQ(train_compiled<RuledNet>({31}, 2, x, y), whole);
  EXPECT_EQ((train_eager<Ruled>({60}, x, y)), whole);
  EXPECT_EQ((train_eager<Ruled>({7, 13, 1, 60, 9}, x, y)), whole);
  EXPECT_EQ(train_compiled<RuledNet::Keeping<40>>({60}, 1, x, y), whole);
  auto moved = [&, from = std::size_t{0}](std::int64_t count) mutable {
    const auto first = whole.begin() + RuledNet::parameter_elements + static_cast<std::ptrdiff_t>(from);
    from += static_cast<std::size_t>(count);
    return std::any_of(first, first + count, [](float g) { return g != 0; });
  };
  for (const ParameterInfo& parameter : RuledNet::Training::graph.parameters)
    EXPECT_TRUE(moved(parameter.shape.elements(1))) << parameter.name.view();
}

/// Rules that compute something of parameters alone, which forward does not need, and give it to samples.
struct OfParameters {
  nn::Linear hidden;
  Parameter weight, gate;
  constexpr explicit OfParameters(Scope s)
      : hidden(s / "hidden", 2, 4), weight(s.parameter("weight", Shape{4, 2}, init::uniform(0.7))),
        gate(s.parameter("gate", Shape{}, init::constant(0.4))) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var h = with_vjp(tanh(hidden(x)), {hidden(x), gate.on(x)}, [](Var g, Var, Var by, Var value) {
      return Adjoints<2>{{g * (1.0 - square(value)) * sigmoid(by) / exp(sigmoid(by)), {}}};
    });
    const Var w = weight.on(x), product = with_vjp(matmul(h, w), {h, w}, [](Var g, Var a, Var b, Var) {
      return Adjoints<2>{{matmul(g, transpose(b, {1, 0})), matmul(a, g, true)}};
    });
    return Loss(mse(product, y)).plus(square(gate.on(x)));
  }
};

TEST(WithVjp, ParametersAreReadBeforeTheSamplesThatNeedThem) {
  using Net = Compiled<OfParameters, Inputs<f32[2], f32[2]>>;
  const Samples<float> x{numbers(samples * 2), {2}}, y{numbers(samples * 2, 2), {2}};
  const auto whole = train_eager<OfParameters>({60}, x, y);
  EXPECT_EQ(train_compiled<Net>({60}, 1, x, y), whole);
  EXPECT_EQ(train_compiled<Net>({7, 13, 1, 60, 9}, 2, x, y), whole);
}

TEST(WithVjp, FrozenParametersLeaveTheOthersTheirGradients) {
  const auto x = numbers(window * 2), y = numbers(window * 2, 2);
  Session all(RuledNet{}, optimizer, {.global_batch = window}),
      some(RuledNet{}, optimizer, {.global_batch = window, .freeze = {"equilibrium/*", "gate"}});
  const std::vector<float> before(all.parameters()["gate"].values.begin(), all.parameters()["gate"].values.end());
  all.accumulate(x, y);
  some.accumulate(x, y);
  for (const char* name : {"hidden/weight", "hidden/bias", "output/weight", "output/threshold", "shift"})
    EXPECT_TRUE(std::ranges::equal(all.parameters()[name].values, some.parameters()[name].values)) << name;
  EXPECT_TRUE(std::ranges::equal(some.parameters()["gate"].values, before));
  EXPECT_FALSE(std::ranges::equal(all.parameters()["gate"].values, before));
}

/// Returns the gradient of Σ f(x) in double; also at compile time.
constexpr std::vector<double> gradient_of(Var (*f)(Var), std::vector<double> x) {
  Tape tape;
  const Var in = input(tape, Shape::per_sample({static_cast<std::int64_t>(x.size())}), DType::f64);
  const Var g = gradients(f(in), {in})[0];
  return Reference<double>(tape, 1, {x}, {})[g.id];
}
constexpr Var squared_reversed(Var x) { return square(reversed(x, 3)); }
constexpr Var clipped_triples(Var x) { return 3.0 * clipped(x) * x; }
static_assert(gradient_of(spike, {1, -3, 0}) == std::vector<double>{0.25, 0.0625, 1});
static_assert(gradient_of(squared_reversed, {2}) == std::vector<double>{-12});
static_assert(gradient_of(clipped_triples, {2, -0.0625}) == std::vector<double>{6.25, -0.375});
static_assert(gradient_of(length, {0, 0}) == std::vector<double>{0, 0});
static_assert(gradient_of(length, {3, 4}) == std::vector<double>{0.6, 0.8});

TEST(WithVjp, TheTrueDerivativeAgreesWithDifferencesTwice) {
  const auto check = test_function("length", [](auto in) { return length(in[0]); }, {Shape::per_sample({3})});
  EXPECT_TRUE(check.mistakes.empty()) << check;
  EXPECT_GT(check.checks, 100);
}

TEST(WithVjp, OperandsMayBeSix) {
  const auto product = [](auto in) {
    Var y = in[0];
    for (std::size_t k = 1; k < 6; ++k) y = y * in[k];
    return with_vjp(y, {in[0], in[1], in[2], in[3], in[4], in[5]}, [](Var g, Var a, Var b, Var c, Var d, Var e, Var f, Var) {
      const Var abc = a * b * c, def = d * e * f;
      return Adjoints<6>{{g * b * c * def, g * a * c * def, g * a * b * def, g * abc * e * f, g * abc * d * f, g * abc * d * e}};
    });
  };
  const Shape samples = Shape::per_sample({2});
  const auto check = test_function("product", product, {samples, {2}, {1}, samples, Shape{}, Shape::per_sample({1})},
                                   {.low = 0.5, .high = 1.5});
  EXPECT_TRUE(check.mistakes.empty()) << check;
}

TEST(WithVjp, WhereADerivativeIsAnotherTheCheckSaysWhich) {
  const auto check = test_function("spike", [](auto in) { return spike(in[0]); }, {Shape::per_sample({2})});
  ASSERT_EQ(check.mistakes.size(), 1u) << check;
  EXPECT_TRUE(check.mistakes[0].starts_with("spike [batch, 2], first order, operand 0, element ")) << check;
  EXPECT_TRUE(check.mistakes[0].ends_with(", differences say 0; wrong at 6 places")) << check;
}

TEST(WithVjp, AnImplicitLayerHasTheDerivativeOfItsFixedPoint) {
  const auto x = numbers(5 * 2), y = numbers(5, 2);
  Session session(ImplicitNet{}, optimizer, {.global_batch = 5});
  const ModelCheck check = test_model(ImplicitNet{}, session.parameters().values(), x, y);
  EXPECT_TRUE(check.mistakes.empty()) << check;
  for (const ModelCheck::Slope& slope : check.slopes) EXPECT_NE(slope.derivative, 0) << check;

  Parameters parameters(Device::cpu());
  const Implicit net(parameters.root());
  parameters.initialize(1);
  const EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const float> out) {
    const Var target = tape.input(out, {1});
    return net.loss(tape.input(in, {2}), target);
  });
  const ModelCheck eagerly = test_model(eager, Dataset(x, y));
  EXPECT_TRUE(eagerly.mistakes.empty()) << eagerly;
}

/// Returns x⁴ with a rule that is wrong by a factor of 2: 8x³, whose derivative is 24x².
constexpr Var doubled(Var x) {
  return with_vjp(square(square(x)), {x}, [](Var g, Var in, Var) { return 8.0 * g * in * square(in); });
}

TEST(WithVjp, SecondDerivativesAreThoseOfTheRule) {
  EagerTape tape(Device::cpu(), 2);
  const std::vector<float> values{1, 2, -1, 3}, along{1, 0, 2, 1};
  const Var x = tape.input(values, {2}), v = tape.input(along, {2}), y = doubled(x);
  const Var slope = gradients(y, {x})[0];
  const Tensor first = value(slope), second = value(gradients(slope, {x})[0]), product = value(hessian_vector(y, {x}, {v})[0]);
  const Tensor tangent = value(jvp(slope, {x}, {v}));  // of a rule that does not read its value
  for (std::int64_t i = 0; i < 4; ++i) {
    const double at = values[static_cast<std::size_t>(i)], by = along[static_cast<std::size_t>(i)];
    EXPECT_EQ(first[i], 8 * at * at * at);
    EXPECT_EQ(second[i], 24 * at * at);
    EXPECT_EQ(product[i], 24 * at * at * by);
    EXPECT_EQ(tangent[i], 24 * at * at * by);
  }
}

TEST(WithVjp, TheValueIsItsFirstOperandToTheBit) {
  const float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> values{-0.0f, nan, infinite, 1e-40f};
  EagerTape tape(Device::cpu(), 1);
  const Var x = tape.input(values, {4}), flat = reshape(x, Shape::per_sample({2, 2})), y = clipped(flat), w = reversed(-(-x), 1);
  for (const Var v : {y, w}) {
    const Tensor got = value(v);
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(got[i])),
                std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>(i)]));
  }
}

struct Plain {
  nn::Linear layer;
  constexpr explicit Plain(Scope s) : layer(s / "layer", 2, 3) {}
  constexpr Var predict(Var x) const { return reshape(tanh(layer(x)), Shape::per_sample({3, 1})); }
  constexpr Loss loss(Var x) const { return {sum(square(predict(x)), {1, 2})}; }
};
struct WithRules : Plain {
  using Plain::Plain;
  constexpr Var predict(Var x) const { return tap(clipped(reversed(reshape(tanh(layer(x)), Shape::per_sample({3, 1})), 2)), "y"); }
  constexpr Loss loss(Var x) const { return {sum(square(predict(x)), {1, 2})}; }
};

TEST(WithVjp, CostsNothing) {
  const auto nodes = [](const Tape& tape) { return simplify(tape).nodes; };
  const auto plain = nodes(trace_inference<Plain>(Inputs<f32[2]>{})), ruled = nodes(trace_inference<WithRules>(Inputs<f32[2]>{}));
  ASSERT_EQ(plain.size(), ruled.size());
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(same_op(plain[i], ruled[i])) << i;
  for (const Node& node : nodes(trace_training<WithRules>(Inputs<f32[2]>{}))) EXPECT_STRNE(node.op->name, "with_vjp");
}

TEST(WithVjp, IsSeenWhereItIsRecorded) {
  const Tape tape = trace_training<WithRules>(Inputs<f32[2]>{});
  std::ostringstream text;
  text << tape;
  EXPECT_NE(text.str().find("%9 = with_vjp %7, %7, %8 : float[batch, 3, 1]\n"
                            "%10 = with_vjp %9, %9 : float[batch, 3, 1]\n"), std::string::npos)
      << text.str();
  EXPECT_NE(graphviz(tape).find("with_vjp"), std::string::npos);
  const Reference<float> values(tape, 2, {{1, 2, 3, 4}}, {numbers(6), numbers(3)});
  EXPECT_EQ(values[tape.taps.at(0).node], values[7]);
}

TEST(WithVjp, TwoRulesOfOneValueStayApart) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f64);
  const Var once = with_vjp(x, {x}, [](Var g, Var, Var) { return g; });
  const Var twice = with_vjp(x, {x}, [](Var g, Var, Var) { return 2.0 * g; });
  const Var of_once = gradients(once * 5.0, {x})[0], of_twice = gradients(twice * 5.0, {x})[0];
  for (const Var v : {once, twice, of_once, of_twice}) tape.roots.push_back({Role::value, static_cast<int>(tape.roots.size()), v.id});
  const Tape simple = simplify(tape);
  const Reference<double> values(simple, 1, {{3, 4}}, {});
  EXPECT_EQ(simple.roots[0].node, simple.roots[1].node);
  EXPECT_EQ(values.root(Role::value, 2), (std::vector<double>{5, 5}));
  EXPECT_EQ(values.root(Role::value, 3), (std::vector<double>{10, 10}));
}

/// Returns the error for a rule of two operands, a sample and a weight, and a value of layer "hidden".
template <class E, class Rule>
std::string refusal(Rule rule) {
  Tape tape;
  const nn::Linear layer(Scope(tape.parameters) / "hidden", 3, 4);
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), w = layer.weight().on(x), y = layer(x);
  return error_of<E>([&] {
    const Var ruled = with_vjp(y, {x, w}, rule);
    backward(sum(ruled, {1}), constant_like(sum(ruled, {1}), 1), {x.id, w.id});
  });
}
constexpr Var samples_in_float(Var g) { return matmul(g, constant_like(input(*g.tape, Shape{4, 3}, DType::f32), 1)); }

TEST(WithVjp, RefusesAdjointsThatDoNotFit) {
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var, Var, Var) { return Adjoints<2>{{g, {}}}; }),
            "with_vjp: the rule gives operand 0, float[batch, 3], a wrong adjoint float[batch, 4] (in layer 'hidden')");
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var, Var, Var) { return Adjoints<2>{{sum(g, {1}, true), {}}}; }),
            "with_vjp: the rule gives operand 0, float[batch, 3], a wrong adjoint float[batch, 1] (in layer 'hidden')");
  EXPECT_EQ(refusal<TypeError>([](Var g, Var, Var, Var) {
              return Adjoints<2>{{convert(samples_in_float(g), DType::f64), {}}};
            }), "with_vjp: the rule gives operand 0, float[batch, 3], a wrong adjoint double[batch, 3] (in layer 'hidden')");
  EXPECT_EQ(refusal<ShapeError>([](Var, Var, Var w, Var) { return Adjoints<2>{{{}, 2.0 * w}}; }),
            "with_vjp: the rule gives operand 1, float[3, 4], a wrong adjoint float[3, 4], which is not a sum over samples (in "
            "layer 'hidden')");
  EXPECT_EQ(refusal<TapeError>([](Var, Var, Var, Var) {
              static Tape other;
              return Adjoints<2>{{input(other, Shape::per_sample({3}), DType::f32), {}}};
            }), "with_vjp: operands belong to different tapes");
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var, Var, Var) {
              return Adjoints<2>{{samples_in_float(g), broadcast(g, Shape::per_sample({3, 4}))}};
            }), "with_vjp: broadcast: shape [batch, 4] cannot be repeated to [batch, 3, 4] (in layer 'hidden')");
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var, Var, Var) {
              Shape rows{3, 4};
              rows.batch_axis = 0;  // three for each sample
              return Adjoints<2>{{{}, reshape(broadcast(reshape(g, Shape::per_sample({1, 4})), Shape::per_sample({3, 4})), rows)}};
            }), "with_vjp: the rule gives operand 1, float[3, 4], a wrong adjoint float[batch*3, 4] (in layer 'hidden')");
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var x, Var, Var) { return Adjoints<2>{{samples_in_float(g), matmul(x, g, true)}}; }),
            "accepted");
}

TEST(WithVjp, RefusesRulesThatCoupleSamples) {
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var x, Var, Var) {
              return Adjoints<2>{{matmul(g, matmul(g, x, true)), {}}};
            }), "with_vjp: the rule computes matmul [batch, 3] from a sum over samples, which couples the samples of a batch "
                "(in layer 'hidden')");
  EXPECT_EQ(refusal<ShapeError>([](Var g, Var x, Var, Var) { return Adjoints<2>{{x * sum(g, {0, 1}), {}}}; }),
            "with_vjp: sum: reducing the sample axis of [batch, 4] couples the samples of a batch (in layer 'hidden')");
}

TEST(WithVjp, RefusesWhatHasNoDerivative) {
  Tape tape, other;
  const nn::Linear layer(Scope(tape.parameters) / "hidden", 3, 4);
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), w = layer.weight().on(x), y = layer(x);
  const auto rule = [](Var g, Var, Var) { return g; };
  EXPECT_EQ(error_of<TypeError>([&] { with_vjp(argmax(y), {y}, rule); }),
            "with_vjp: integers have no derivative (after layer 'hidden')");
  EXPECT_EQ(error_of<ShapeError>([&] { with_vjp(w, {x}, rule); }),
            "with_vjp: a value without samples, [3, 4], has no derivative with respect to samples, [batch, 3] (in layer "
            "'hidden')");
  EXPECT_EQ(error_of<TapeError>([&] { with_vjp(x, {Var{}}, rule); }), "with_vjp: an operand is an empty Var");
  EXPECT_EQ(error_of<TapeError>([&] { with_vjp(x, {input(other, Shape{3}, DType::f32)}, rule); }),
            "with_vjp: operands belong to different tapes");
  EXPECT_EQ(error_of<TapeError>([&] { jvp(sum(tanh(clipped(y)), {1}), {x}, {x}); }),
            "jvp: with_vjp defines adjoints, not how its value changes (in layer 'hidden'): vjp and hessian_vector work with "
            "it");
  EXPECT_TRUE(jvp(clipped(x) * sum(y, {1}, true), {y}, {y}).valid()) << "which does not go through it";
}

constexpr bool the_compiler_is_told_why() {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  gradients(with_vjp(x, {x}, [](Var g, Var, Var) { return sum(g, {1}); }), {x});
  return tape.error.view() == "with_vjp: the rule gives operand 0, float[batch, 3], a wrong adjoint float[batch]";
}
static_assert(the_compiler_is_told_why());

struct InSixteenBits {
  nn::Linear layer;
  constexpr explicit InSixteenBits(Scope s) : layer(s / "layer", 2, 3) {}
  constexpr Loss loss(Var x) const {
    const Var y = clipped(convert(layer(x), DType::bf16));
    const Var z = with_vjp(y, {y}, [](Var g, Var, Var) { return convert(g, DType::f32) * 0.5; });
    return {sum(square(convert(z, DType::f32)), {1})};
  }
};
static_assert(trace_training<InSixteenBits>(Inputs<f32[2]>{}).error.empty());

}  // namespace with_vjp_test
