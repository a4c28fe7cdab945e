// `test_model`: nets of all kinds agree with differences of their losses, and a wrong derivative is named.
#include <gtest/gtest.h>

#include <cmath>
#include <gradual/check/test_model.hpp>
#include <limits>
#include <sstream>

#include "../error_of.hpp"
#include "../initial_parameters.hpp"
#include "../models.hpp"

namespace model_check_test {

using namespace models;

template <class Net, class... Data>
ModelCheck check(const Data&... data) {
  return test_model(Net{}, initial_parameters<Net>(2), data...);
}

/// Expects agreement for every parameter, with differences that match derivatives within `digits`, relative to their size.
template <class Net, class... Data>
void expect_agreement(double digits, const Data&... data) {
  const ModelCheck result = check<Net>(data...);
  EXPECT_TRUE(result.mistakes.empty()) << result;
  ASSERT_EQ(result.slopes.size(), static_cast<std::size_t>(Net::parameter_count));
  double moved = 0;
  for (const ModelCheck::Slope& slope : result.slopes) {
    EXPECT_LE(slope.apart(), digits * slope.size + 1e-15) << result;
    moved += std::abs(slope.derivative);
  }
  EXPECT_GT(moved, 0);
}

TEST(ModelCheck, SmoothNets) {
  const auto tokens = labels(2 * 7, 11);
  expect_agreement<TokensNet>(1e-9, tokens, tokens);
  expect_agreement<SequenceNet>(1e-9, numbers(4 * 18), numbers(4 * 6, 2));
  expect_agreement<TiedNet>(1e-9, numbers(4 * 4), numbers(4 * 4, 2));
}

/// Both sides of a difference pass through one layer, whose bias has no effect.
struct Siamese {
  nn::Linear layer;
  constexpr explicit Siamese(Scope s) : layer(s / "layer", 6, 4) {}
  constexpr Loss loss(Var left, Var right) const { return {sum(square(layer(left) - layer(right)), {1})}; }
};
TEST(ModelCheck, WhatMovesNothingIsNoKink) {
  using Net = Compiled<Siamese, Inputs<f32[6], f32[6]>>;
  for (const float size : {1.0f, 100.0f})
    for (const float spread : {1.0f, 1e-2f})
      for (unsigned seed = 0; seed < 25; ++seed) {
        std::vector<float> left = numbers(2 * 6, 2 * seed + 1), right = numbers(2 * 6, 2 * seed + 2);
        for (std::size_t i = 0; i < left.size(); ++i) left[i] *= size, right[i] = left[i] + spread * size * right[i];
        const ModelCheck result = test_model(Net{}, initial_parameters<Net>(seed), left, right);
        EXPECT_TRUE(result.mistakes.empty()) << "seed " << seed << '\n' << result;
      }
}

TEST(ModelCheck, KinksThatLargeStepsCross) {
  expect_agreement<ClassifierNet>(1e-7, numbers(8 * 9), labels(8, 5));
  expect_agreement<ConvolutionalNet>(1e-7, numbers(2 * 16 * 12), labels(1, 5));
}

TEST(ModelCheck, WeightsOfSamplesAreNotMoved) {
  expect_agreement<WeightedNet>(1e-9, numbers(5 * 4), numbers(5 * 3, 2), std::vector<float>{1, 0, 2.5f, 0.5f, 3});
}

TEST(ModelCheck, DropsNothing) { expect_agreement<DroppedNet>(1e-7, numbers(8 * 9), labels(8, 5)); }

TEST(ModelCheck, SixteenBitsAreNotRounded) {
  const auto image = numbers_in<bf16>(4 * 16);
  const auto token = labels(4, 7), label = labels(4, 3);
  expect_agreement<NarrowNet<bf16>>(1e-7, image, token, label);
  expect_agreement<EdgesNet<bf16>>(1e-7, numbers_in<bf16>(4 * 15), edges(4), numbers_in<bf16>(4 * 2, 2));
}

/// A penalty counts once for all samples, whatever their weights.
struct Penalised {
  nn::Linear only;
  constexpr explicit Penalised(Scope s) : only(s / "only", 3, 1) {}
  constexpr Loss loss(Var x, Var w) const {
    const Var weight = only.weight().on(x);
    return Loss(mse(only(x), sum(x, {1}, true))).weighted_by(w).plus(0.3 * sum(exp(weight), {0, 1}));
  }
};

TEST(ModelCheck, Penalties) {
  expect_agreement<Compiled<Penalised, Inputs<f32[3], f32>>>(1e-9, numbers(5 * 3), std::vector<float>{1, 2, 0.5f, 4, 1});
}

/// x³, with a derivative that is a thousandth too large, or infinite.
template <bool Endless>
struct Cube {
  static constexpr const char* name = "cube";
  static constexpr int arity = 1;
  static constexpr Domain domain{-2, 2};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * x * x;
  }
  static constexpr double factor = Endless ? std::numeric_limits<double>::infinity() : 3.003;
  static constexpr Var vjp(Var g, Var x, Var) { return g * (factor * square(x)); }
};
enum class Fault { none, own_derivative, endless, stopped, jumps, no_number };
template <Fault What>
struct Faulty {
  using Ops = OpList<Cube<false>, Cube<true>>;
  nn::Linear first, second;
  constexpr explicit Faulty(Scope s) : first(s / "first", 4, 5), second(s / "second", 5, 3) {}
  constexpr Loss loss(Var x, Var label) const {
    Var hidden = first(x);
    if (What == Fault::own_derivative) hidden = elementwise<Cube<false>>(hidden);
    if (What == Fault::endless) hidden = elementwise<Cube<true>>(hidden);
    if (What == Fault::stopped) hidden = tanh(hidden) * stop_gradient(sigmoid(hidden));
    if (What == Fault::jumps) hidden = where(sin(1e9 * hidden) > 0.0, hidden, -hidden);
    if (What == Fault::no_number) hidden = log(-square(hidden));
    return cross_entropy(second(hidden), label);
  }
};
template <Fault What>
ModelCheck check_faulty() {
  return check<Compiled<Faulty<What>, Inputs<f32[4], i32>>>(numbers(6 * 4), labels(6, 3));
}

TEST(ModelCheck, AWrongDerivativeIsFoundInWhatItReaches) {
  EXPECT_TRUE(check_faulty<Fault::none>().mistakes.empty());
  const std::vector<std::string> both = {"first/weight: the derivative is not what differences say",
                                         "first/bias: the derivative is not what differences say"};
  EXPECT_EQ(check_faulty<Fault::own_derivative>().mistakes, both);
  EXPECT_EQ(check_faulty<Fault::stopped>().mistakes, both);
}

TEST(ModelCheck, DifferencesThatTellNothingAreNoAgreement) {
  const ModelCheck result = check_faulty<Fault::jumps>();
  ASSERT_FALSE(result.mistakes.empty());
  EXPECT_EQ(result.mistakes[0], "first/weight: differences of neighbouring step sizes are far apart");
}

TEST(ModelCheck, ADerivativeThatIsNotFiniteIsNoAgreement) {
  const std::vector<std::string> both = {"first/weight: the derivative is not finite",
                                         "first/bias: the derivative is not finite"};
  EXPECT_EQ(check_faulty<Fault::endless>().mistakes, both);
}

/// A perfect fit, as of a formula's parameters to its own values: losses and derivatives are 0, except for rounding.
struct Calibrated {
  Parameter at;
  constexpr explicit Calibrated(Scope s) : at(s.parameter("at", Shape{2}, init::constant(0))) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var rate = select(at.on(x), 0, 0), place = select(at.on(x), 0, 1);
    return {square(exp(rate * x) + sqrt(1.0 + square(x - place)) - y)};
  }
};
TEST(ModelCheck, WhereALossIsLeastIsNoKink) {
  using Net = Compiled<Calibrated, Inputs<f64, f64>>;
  const std::vector<double> x = {-2, -1, -0.5, 0.25, 1, 1.5};
  const double found[] = {0.3, -0.2};
  for (const double missed : {0.0, 3e-16, 1e-14, 1e-9, 1e-3}) {  // error of the fitted parameter
    std::vector<double> y;
    for (const double at : x) y.push_back(std::exp((0.3 + missed) * at) + std::sqrt(1 + (at + 0.2) * (at + 0.2)));
    const ModelCheck result = test_model(Net{}, found, x, y);
    EXPECT_TRUE(result.mistakes.empty()) << missed << '\n' << result;
  }
}

/// All weights, and so all operands of relu, are 0: each stands on its kink, even if the loss has large other parts.
template <int Else>
struct OnAKink {
  nn::Linear only;
  constexpr explicit OnAKink(Scope s) : only(s / "only", 2, 3, init::constant(0)) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(relu(only(x)), y) + Else}; }
};

template <int Else>
std::string mistake_on_a_kink() {
  const float x[] = {0, 0, 1, 2}, y[] = {1, 2, 3, 4, 5, 6};
  const std::vector<float> zeros(9);
  return test_model(Compiled<OnAKink<Else>, Inputs<f32[2], f32[3]>>{}, zeros, x, y).mistakes.at(1);
}
TEST(ModelCheck, AKinkUnderAValueIsTold) {
  const std::string why = "only/bias: values are at a kink, as of relu at 0: move the parameters a little";
  EXPECT_EQ(mistake_on_a_kink<0>(), why);
  EXPECT_EQ(mistake_on_a_kink<10000>(), why);
}

TEST(ModelCheck, ALossThatIsNoNumberIsNoAgreement) {
  EXPECT_EQ(check_faulty<Fault::no_number>().mistakes, std::vector<std::string>{"the loss is not finite"});
}

TEST(ModelCheck, PrintsARowForEachParameter) {
  std::ostringstream text;
  text << check_faulty<Fault::own_derivative>();
  EXPECT_EQ(text.str().find("parameter                     elements     derivative    differences     apart   told to\n"), 0u)
      << text.str();
  EXPECT_NE(text.str().find("\nsecond/weight                       15 "), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("\nfirst/bias: the derivative is not"), std::string::npos) << text.str();
}

/// An eager model that branches on its values: its choice stays fixed.
struct Chosen {
  Parameter weight, unused;
  bool stopped;
  explicit Chosen(Scope s, bool stops)
      : weight(s.parameter("weight", Shape{3}, init::constant(0.4))), unused(s.parameter("unused", Shape{2}, init::zeros())),
        stopped(stops) {}
  Loss loss(Var x, Var label) const {
    Var y = sum(x * weight, {1});
    if (value(y)[0] > 0) y = tanh(y);
    const Var squared = square(stopped ? stop_gradient(y) : y);
    return Loss(y * squared).weighted_by(where(label == 1, 0.0, 2.0));
  }
};
ModelCheck check_eager(bool stops, std::vector<std::int32_t> label, float first = 1) {
  Parameters parameters(Device::cpu());
  const Chosen model(parameters.root(), stops);
  parameters.initialize(1);
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> x, std::span<const std::int32_t> y) {
    const Var in = tape.input(x, {3}), of = tape.input(y);
    return model.loss(in, of);
  });
  const std::vector<float> x{first, 2, 3, 0.5f, -0.25f, 0.125f};
  return test_model(net, Dataset(x, label));
}

TEST(ModelCheck, EagerNets) {
  for (const float first : {1.0f, -9.0f}) {  // with tanh, and without
    const ModelCheck right = check_eager(false, {0, 2}, first);
    EXPECT_TRUE(right.mistakes.empty()) << right;
    ASSERT_EQ(right.slopes.size(), 2u);
    EXPECT_NE(right.slopes[0].derivative, 0);
    EXPECT_EQ(right.slopes[1].derivative, 0);
  }
  EXPECT_EQ(check_eager(true, {0, 2}).mistakes,
            std::vector<std::string>{"weight: the derivative is not what differences say"});
  EXPECT_EQ(check_eager(false, {1, 1}).mistakes, std::vector<std::string>{"no sample has a weight: nothing is compared"});
  EXPECT_THROW(check_eager(false, {0, 2}, std::numeric_limits<float>::infinity()), DataError);
}

TEST(ModelCheck, EagerNetsHaveTheSlopesOfCompiledOnes) {
  const std::vector<float> x = numbers(8 * 9);
  const std::vector<std::int32_t> y = labels(8, 5);
  Parameters parameters(Device::cpu());
  const Dropped model(parameters.root());
  parameters.initialize(2);
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> of) {
    const Var values = tape.input(in, {9}), label = tape.input(of);
    return model.loss(values, label);
  });
  const ModelCheck eager = test_model(net, Dataset(x, y)), compiled = check<DroppedNet>(x, y);
  ASSERT_EQ(eager.slopes.size(), compiled.slopes.size());
  for (std::size_t p = 0; p < eager.slopes.size(); ++p) {
    EXPECT_EQ(eager.slopes[p].parameter, compiled.slopes[p].parameter);
    EXPECT_EQ(eager.slopes[p].derivative, compiled.slopes[p].derivative);
    EXPECT_EQ(eager.slopes[p].difference, compiled.slopes[p].difference);
  }
}

TEST(ModelCheck, WhatIsNoDataIsRefused) {
  using Net = Compiled<Penalised, Inputs<f32[3], f32>>;
  const std::vector<float> x = numbers(6), w(2), parameters(4);
  EXPECT_EQ(error_of<DataError>([&] { test_model(Net{}, std::span(x).first(3), x, w); }),
            "test_model: the net has 4 parameters, got 3");
  EXPECT_EQ(error_of<DataError>([&] { test_model(Net{}, parameters, std::vector<float>(5), w); }),
            "input 0: 5 values are not whole samples of 3");
  EXPECT_EQ(test_model(Net{}, parameters, x, w).mistakes,
            std::vector<std::string>{"no sample has a weight: nothing is compared"});
}

}  // namespace model_check_test
