// Layers made of several products, against their formulas written as loops, in double.
#include <gtest/gtest.h>

#include <cmath>

#include <gradual/autodiff/backward.hpp>
#include <gradual/autodiff/ops/cross_entropy.hpp>
#include <gradual/nn/attention.hpp>
#include <gradual/nn/conv_transpose.hpp>
#include <gradual/nn/cross_attention.hpp>
#include <gradual/nn/embedding.hpp>
#include <gradual/nn/group_norm.hpp>
#include <gradual/nn/gru.hpp>
#include <gradual/nn/lstm.hpp>

#include "../error_of.hpp"
#include "recorded_layer.hpp"

namespace layers_test {

using namespace recorded_layer;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// Returns whether a recurrent layer that fails returns all of its states nevertheless, as invalid values.
template <class Layer>
constexpr bool has_states_that_are_not_there() {
  Tape tape;
  const Layer layer(Scope(tape.parameters) / "layer", 1, 2);
  const std::vector<Var> states = layer(input(tape, Shape::per_sample({4}), DType::f32));
  return !tape.error.empty() && states.size() == 4 && !states.back().valid() && !stack(states, 1).valid();
}
TEST(Recurrent, StatesOfWhatFailedCanBeAskedFor) {
  static_assert(has_states_that_are_not_there<nn::Gru>());
  static_assert(has_states_that_are_not_there<nn::Lstm>());
}

TEST(Recurrent, BeginsAsInPyTorch) {  // all parameters within ±1/sqrt(width)
  Tape tape;
  const nn::Gru gru(Scope(tape.parameters) / "gru", 2, 64);
  const nn::Lstm lstm(Scope(tape.parameters) / "lstm", 2, 64);
  ASSERT_EQ(std::ssize(tape.parameters), 8);
  for (const ParameterInfo& parameter : tape.parameters) EXPECT_EQ(parameter.initializer, init::uniform(0.125));
}

TEST(Gru, HasTheStatesOfItsFormula) {
  constexpr std::size_t batch = 3, steps = 4, in = 2, width = 5;
  Recorded r({steps, in});
  const nn::Gru gru(Scope(r.tape.parameters) / "gru", in, width);
  const std::vector<Var> states = gru(r.x);
  ASSERT_EQ(states.size(), steps);
  const Values x = numbers(batch * steps * in, 77), all = r.result(stack(states, 1), batch, x);
  Values expected;
  for (std::size_t b = 0; b < batch; ++b) {
    Values h(width, 0.0);
    for (std::size_t t = 0; t < steps; ++t) {
      const Values i = affine(&x[(b * steps + t) * in], r["gru/input/weight"], r["gru/input/bias"]);
      const Values u = affine(h.data(), r["gru/state/weight"], r["gru/state/bias"]);
      for (std::size_t j = 0; j < width; ++j) {
        const double reset = sigmoid_of(i[j] + u[j]), keep = sigmoid_of(i[width + j] + u[width + j]);
        h[j] = (1 - keep) * std::tanh(i[2 * width + j] + reset * u[2 * width + j]) + keep * h[j];
      }
      expected.insert(expected.end(), h.begin(), h.end());
    }
  }
  expect_near(all, expected);
}

TEST(Lstm, HasTheStatesOfItsFormula) {
  constexpr std::size_t batch = 3, steps = 4, in = 2, width = 5;
  Recorded r({steps, in});
  const nn::Lstm lstm(Scope(r.tape.parameters) / "lstm", in, width);
  const std::vector<Var> states = lstm(r.x);
  ASSERT_EQ(states.size(), steps);
  const Values x = numbers(batch * steps * in, 77), all = r.result(stack(states, 1), batch, x);
  Values expected;
  for (std::size_t b = 0; b < batch; ++b) {
    Values h(width, 0.0), c(width, 0.0);
    for (std::size_t t = 0; t < steps; ++t) {
      Values gate = affine(&x[(b * steps + t) * in], r["lstm/input/weight"], r["lstm/input/bias"]);
      const Values u = affine(h.data(), r["lstm/state/weight"], r["lstm/state/bias"]);
      for (std::size_t j = 0; j < gate.size(); ++j) gate[j] += u[j];
      for (std::size_t j = 0; j < width; ++j) {
        c[j] = sigmoid_of(gate[width + j]) * c[j] + sigmoid_of(gate[j]) * std::tanh(gate[2 * width + j]);
        h[j] = sigmoid_of(gate[3 * width + j]) * std::tanh(c[j]);
      }
      expected.insert(expected.end(), h.begin(), h.end());
    }
  }
  expect_near(all, expected);
}

TEST(LayersWithoutBias, DeclareNoneAndAddNone) {
  Recorded r({2, 5});
  const Scope root(r.tape.parameters);
  const nn::Linear linear(root / "linear", 5, 3, {.bias = false});
  const nn::Conv1d conv(root / "conv", 2, 3, 2, {}, {.bias = false});
  const nn::ConvTranspose1d up(root / "up", 2, 3, 2, {}, 0, {.bias = false});
  const nn::MultiHeadAttention attention(root / "attention", 5, 1, nn::Attend::everywhere, {.bias = false});
  const nn::Linear begun(root / "begun", 5, 3, init::zeros(), {.bias = false});
  EXPECT_EQ(r.tape.parameters.size(), 6u);
  const std::size_t batch = 2, positions = 2, width = 5;
  const Values x = numbers(batch * positions * width, 7), got = r.result(linear(r.x), batch, x);
  for (std::size_t row = 0; row < batch * positions; ++row)
    expect_near({got.begin() + static_cast<std::ptrdiff_t>(3 * row), got.begin() + static_cast<std::ptrdiff_t>(3 * row + 3)},
                affine(&x[row * width], r["linear/weight"], {0, 0, 0}));
  expect_near(r.result(conv(r.x), batch, x), r.result(conv1d(r.x, conv.weight().on(r.x)), batch, x));
  expect_near(r.result(up(r.x), batch, x), r.result(conv_transpose1d(r.x, up.weight().on(r.x)), batch, x));
  EXPECT_EQ(attention(r.x).shape(), r.x.shape());
  EXPECT_EQ(error_of<TapeError>([&] { conv.bias().on(r.x); }), "a layer without a bias was asked for its bias");
}

TEST(CrossEntropy, OfScoresWithoutClassesIsAnError) {
  Tape tape;
  const Var scores = input(tape, Shape::per_sample({}), DType::f32);
  const Var label = input(tape, Shape::per_sample({}), DType::i32);
  EXPECT_EQ(error_of<ShapeError>([&] { cross_entropy(scores, label); }), "cross_entropy: scores [batch] have no axis of classes");
}

TEST(Init, OfWhatCannotBeDrawnIsAnError) {
  Tape tape;
  const Scope root(tape.parameters);
  for (const Initializer by :
       {init::normal(std::nan("")), init::uniform(-0.1), init::normal(INFINITY), init::kaiming_normal(-3),
        init::kaiming_uniform(0), init::xavier_normal(0, 0), init::linear_default(0)})
    EXPECT_EQ(error_of<ShapeError>([&] { root.parameter("w", Shape{2}, by); }),
              "parameter 'w': its initializer's scale is negative or not finite");
  root.parameter("w", Shape{2}, init::constant(-0.1));
}

TEST(LayerNorm, OfAnotherWidthIsAnError) {  // a width of 1, of the norm or of the row, would be broadcast
  Tape tape;
  const Scope root(tape.parameters);
  const Var column = input(tape, Shape::per_sample({8, 1}), DType::f32), row = input(tape, Shape::per_sample({8}), DType::f32);
  const auto refused = [](auto f) { return error_of<ShapeError>(f); };
  EXPECT_EQ(refused([&] { nn::LayerNorm(root / "a", 4)(column); }),
            "layer_norm: needs a width of 4, got [batch, 8, 1] (in layer 'a')");
  EXPECT_EQ(refused([&] { nn::LayerNorm(root / "b", 1)(row); }),
            "layer_norm: needs a width of 1, got [batch, 8] (in layer 'b')");
  EXPECT_EQ(refused([&] { nn::RmsNorm(root / "c", 4)(column); }),
            "rms_norm: needs a width of 4, got [batch, 8, 1] (in layer 'c')");
}

TEST(LayerNorm, OfAnEpsilonBelowZeroIsAnError) {
  Recorded r({6, 5});
  const Scope root(r.tape.parameters);
  const auto refused = [](auto f) { return error_of<ShapeError>(f); };
  EXPECT_EQ(refused([&] { nn::LayerNorm(root / "a", 5, -1.0)(r.x); }),
            "layer_norm: an epsilon that is negative or NaN (in layer 'a')");
  EXPECT_EQ(refused([&] { nn::RmsNorm(root / "b", 5, std::nan(""))(r.x); }),
            "rms_norm: an epsilon that is negative or NaN (in layer 'b')");
  EXPECT_EQ(refused([&] { nn::GroupNorm(root / "c", 2, 6, -1e-9)(r.x); }),
            "group_norm: an epsilon that is negative or NaN (in layer 'c')");
  nn::LayerNorm(root / "d", 5, 0)(r.x);
}

TEST(LayerNorm, OfAConstantRowIsItsShift) {  // case 25
  Recorded r({4});
  const nn::LayerNorm norm(Scope(r.tape.parameters) / "norm", 4);
  const Var y = norm(r.x), first = select(y, 1, 0);
  const Var g = backward(first, constant_like(first, 1), {r.x.id})[static_cast<std::size_t>(r.x.id)];
  const Values x(4, 7.0);
  const Values normal = r.result(y, 1, x);
  EXPECT_EQ(normal, r["norm/shift"]);
  const Values gradient = r.result(g, 1, x);
  const double deviation = 316.2277660168379, scale = r["norm/scale"][0];  // 1/√1e-5
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(gradient[i] / scale, deviation * (i == 0 ? 0.75 : -0.25), 1e-11);
}

TEST(GroupNorm, NormalisesEachGroupOfChannels) {
  constexpr std::size_t batch = 2, groups = 2, channels = 6, positions = 4 * 3;
  Recorded r({channels, 4, 3});
  const nn::GroupNorm norm(Scope(r.tape.parameters) / "norm", groups, channels, 1e-3);
  const Var y = norm(r.x);
  EXPECT_EQ(y.shape(), r.x.shape());
  const Values x = numbers(batch * channels * positions, 7), got = r.result(y, batch, x);
  constexpr std::size_t size = channels / groups * positions;
  Values expected;
  for (std::size_t begin = 0; begin < x.size(); begin += size) {
    double mean = 0, variance = 0;
    for (std::size_t i = begin; i < begin + size; ++i) mean += x[i] / size;
    for (std::size_t i = begin; i < begin + size; ++i) variance += (x[i] - mean) * (x[i] - mean) / size;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const std::size_t channel = i / positions % channels;
      expected.push_back((x[i] - mean) / std::sqrt(variance + 1e-3) * r["norm/scale"][channel] + r["norm/shift"][channel]);
    }
  }
  expect_near(got, expected);
}

TEST(GroupNorm, RefusesOtherChannelsAndGroupsThatDoNotShareThemOut) {
  Recorded r({6, 5});
  const Scope scope(r.tape.parameters);
  EXPECT_EQ(error_of<ShapeError>([&] { nn::GroupNorm(scope / "norm", 4, 6)(r.x); }),
            "group_norm: 6 channels in 4 groups, got [batch, 6, 5] (in layer 'norm')");
  EXPECT_EQ(error_of<ShapeError>([&] { nn::GroupNorm(scope / "other", 2, 8)(r.x); }),
            "group_norm: 8 channels in 2 groups, got [batch, 6, 5] (in layer 'other')");
  EXPECT_EQ(error_of<ShapeError>([&] { nn::GroupNorm(scope / "none", 0, 6)(r.x); }),
            "group_norm: 6 channels in 0 groups, got [batch, 6, 5] (in layer 'none')");
}

TEST(ConvTranspose, AddsEachElementsKernelToTheResult) {
  constexpr std::int64_t batch = 2, groups = 2, in = 4, out = 6, rows = 3, columns = 2, kernel = 3;
  constexpr std::int64_t stride = 2, padding = 1, dilation = 2, more = 1;
  constexpr std::int64_t high = (rows - 1) * stride - 2 * padding + (kernel - 1) * dilation + 1 + more;
  constexpr std::int64_t wide = (columns - 1) * stride - 2 * padding + (kernel - 1) * dilation + 1 + more;
  Recorded r({in, rows, columns});
  const nn::ConvTranspose2d layer(Scope(r.tape.parameters) / "layer", in, out, kernel,
                                  {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups}, more);
  const Var y = layer(r.x);
  ASSERT_EQ(y.shape(), Shape::per_sample({out, high, wide}));
  const Values x = numbers(batch * in * rows * columns, 7), got = r.result(y, batch, x);
  const Values &weight = r["layer/weight"], &bias = r["layer/bias"];
  Values expected;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t o = 0; o < out; ++o) expected.insert(expected.end(), high * wide, bias[static_cast<std::size_t>(o)]);
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const std::int64_t column = i % columns, row = i / columns % rows, channel = i / (columns * rows) % in;
    const std::int64_t sample = i / (columns * rows * in), group = channel / (in / groups);
    for (std::int64_t w = 0; w < out / groups * kernel * kernel; ++w) {
      const std::int64_t to_row = row * stride + w / kernel % kernel * dilation - padding;
      const std::int64_t to_column = column * stride + w % kernel * dilation - padding;
      if (to_row < 0 || to_row >= high || to_column < 0 || to_column >= wide) continue;
      const std::int64_t output = group * (out / groups) + w / (kernel * kernel);
      expected[static_cast<std::size_t>(((sample * out + output) * high + to_row) * wide + to_column)] +=
          x[static_cast<std::size_t>(i)] *
          weight[static_cast<std::size_t>(channel * (out / groups) * kernel * kernel + w)];
    }
  }
  expect_near(got, expected);
}

TEST(Embedding, ScoresAreProductsWithEachRow) {
  Recorded r({2});
  const nn::Embedding table(Scope(r.tape.parameters) / "table", 3, 2);
  const Values got = r.result(table.scores(r.x), 1, {0.5, 2});
  const Values& w = r["table/weight"];
  expect_near(got, {0.5 * w[0] + 2 * w[1], 0.5 * w[2] + 2 * w[3], 0.5 * w[4] + 2 * w[5]});
}

TEST(Layers, ComputeInTheTypeOfTheirInputAndKeepFloatParameters) {
  const auto expect_types = [](const Shape& sample, auto use) {
    Tape tape;
    const Var x = input(tape, Shape::per_sample(sample), DType::bf16), y = use(Scope(tape.parameters) / "layer", x);
    EXPECT_EQ(y.dtype(), DType::bf16);
    const std::vector<int> targets = tape.parameter_nodes;
    const std::vector<Var> adjoint = backward(y, constant_like(y, 1), targets);
    for (const int parameter : targets) {
      EXPECT_EQ(tape[parameter].dtype, DType::f32);
      EXPECT_EQ(adjoint[static_cast<std::size_t>(parameter)].dtype(), DType::f32) << tape.parameters[0].name.string();
    }
    EXPECT_EQ(targets.size(), tape.parameters.size());
  };
  expect_types({4}, [](Scope s, Var x) { return nn::Linear(s, 4, 3)(x); });
  expect_types({1, 5}, [](Scope s, Var x) { return nn::Conv1d(s, 1, 3, 3)(x); });
  expect_types({1, 5, 5}, [](Scope s, Var x) { return nn::Conv2d(s, 1, 3, 3)(x); });
  expect_types({3, 5}, [](Scope s, Var x) { return nn::ConvTranspose1d(s, 3, 2, 3)(x); });
  expect_types({3, 5, 5}, [](Scope s, Var x) { return nn::ConvTranspose2d(s, 3, 2, 3)(x); });
  expect_types({4}, [](Scope s, Var x) { return nn::LayerNorm(s, 4)(x); });
  expect_types({4, 3}, [](Scope s, Var x) { return nn::GroupNorm(s, 2, 4)(x); });
  expect_types({4}, [](Scope s, Var x) { return nn::RmsNorm(s, 4)(x); });
  expect_types({5, 4}, [](Scope s, Var x) { return nn::Gru(s, 4, 3)(x).back(); });
  expect_types({5, 4}, [](Scope s, Var x) { return nn::Lstm(s, 4, 3)(x).back(); });
  expect_types({5, 8}, [](Scope s, Var x) { return nn::MultiHeadAttention(s, 8, 2, nn::Attend::backward)(x); });
  expect_types({5, 8}, [](Scope s, Var x) { return nn::CrossAttention(s, 8, 8, 2)(x, x, select(x, 2, 0)); });
  expect_types({5, 8}, [](Scope s, Var x) {
    const nn::MultiHeadAttention attention(s, 8, 2, nn::Attend::everywhere, {.rotary = 50});
    return attention(x, {}, [](Var scores, Var before) { return scores - 0.5 * abs(before); });
  });
  expect_types({4}, [](Scope s, Var x) { return nn::Embedding(s, 7, 4).scores(x); });
}

}  // namespace layers_test
