// Convolutions and pooling: splits, threads, eager and compiled give equal bits; what does not fit is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/reference.hpp>
#include <limits>
#include <sstream>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace convolution_test {

using namespace both_ways;

const Samples<float> images{numbers(samples * 2 * 16 * 12), {2, 16, 12}};
const Samples<std::int32_t> classes{labels(samples, 5), {}};

TEST(Convolutions, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<ConvolutionalNet>({60}, 1, images, classes);
  EXPECT_EQ(whole, train_compiled<ConvolutionalNet>({7, 1, 30, 22}, 1, images, classes));
  EXPECT_EQ(whole, train_compiled<ConvolutionalNet>({25}, 2, images, classes));
  EXPECT_EQ(whole, train_eager<Convolutional>({60}, images, classes));
  EXPECT_EQ(whole, train_eager<Convolutional>({13, 21}, images, classes));
}

TEST(Convolutions, OverTimeSplitsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Temporal, Inputs<f32[2][13], i32>>;
  const Samples<float> series{numbers(samples * 2 * 13), {2, 13}};
  expect_same_both_ways<Temporal, Net>(series, classes);
}

TEST(Convolutions, InGroupsSplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Separable, Inputs<f32[2][9][8], i32>>;
  const Samples<float> few_pixels{numbers(samples * 2 * 9 * 8), {2, 9, 8}};
  expect_same_both_ways<Separable, Net>(few_pixels, classes);
}

TEST(Convolutions, TransposedSplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Decoder, Inputs<f32[7], i32>>;
  const Samples<float> codes{numbers(samples * 7), {7}};
  expect_same_both_ways<Decoder, Net>(codes, classes);
}

TEST(Convolutions, InGroupsAreConvolutionsOfSlices) {
  EagerTape tape(Device::cpu(), 3);
  const std::vector<float> planes = numbers(3 * 6 * 5 * 4), kernels = numbers(4 * 3 * 3 * 2, 2);
  const Var x = tape.input(planes, {6, 5, 4});
  const Var w = tape.input(Tensor::from(Device::cpu(), std::span(kernels), {4, 3, 3, 2}));
  const auto half = [&](std::int64_t group) {
    return conv2d(slice(x, 1, 3 * group, 3), slice(w, 0, 2 * group, 2), {.stride = 2, .padding = 1});
  };
  const Tensor apart = value(concat({half(0), half(1)}, 1));
  const Tensor together = value(conv2d(x, w, {.stride = 2, .padding = 1, .groups = 2}));
  ASSERT_EQ(together.shape(), apart.shape());
  for (std::int64_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], apart[i]) << i;
}

TEST(Convolutions, KnownValues) {
  EagerTape tape(Device::cpu());
  const std::vector<float> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Var x = tape.input(image, {1, 3, 3});
  const auto kernel = [&](std::initializer_list<float> w, const Shape& shape) {
    return tape.input(Tensor::from(Device::cpu(), w, shape));
  };
  const Tensor valid = value(conv2d(x, kernel({1, 0, 0, -1}, {1, 1, 2, 2})));  // x[i, j] − x[i + 1, j + 1]
  for (int i = 0; i < 4; ++i) EXPECT_EQ(valid[i], -4);
  const Tensor strided = value(conv2d(x, kernel({1, 1, 1, 1}, {1, 1, 2, 2}), {.stride = 2, .padding = 1}));
  EXPECT_EQ(strided[0], 1);
  EXPECT_EQ(strided[1], 2 + 3);
  EXPECT_EQ(strided[2], 4 + 7);
  EXPECT_EQ(strided[3], 5 + 6 + 8 + 9);
  const Tensor corners = value(conv2d(x, kernel({1, 1, 1, 1}, {1, 1, 2, 2}), {.dilation = 2}));
  EXPECT_EQ(corners.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(corners[0], 1 + 3 + 7 + 9);
  const std::vector<float> steps = {1, 2, 3, 4, 10, 20, 30, 40};
  const Var series = tape.input(steps, {2, 4});
  const Tensor summed = value(conv1d(pad(series, 2, 2, 0), kernel({1, 1, 1, 0}, {1, 2, 2}), {.dilation = 2}));
  ASSERT_EQ(summed.shape(), (Shape{1, 1, 4}));
  EXPECT_EQ(summed[0], 1);
  EXPECT_EQ(summed[3], 2 + 4 + 20);
  const Tensor apart = value(conv1d(series, kernel({1, 0, 0, 1}, {1, 2, 2}), {.stride = 3, .padding = 1}));
  ASSERT_EQ(apart.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(apart[0], 10);
  EXPECT_EQ(apart[1], 3 + 40);
  const Tensor spread = value(conv_transpose1d(series, kernel({1, 2, 3, 5, 0, 7}, {2, 1, 3}), {.stride = 2, .padding = 1}, 1));
  ASSERT_EQ(spread.shape(), (Shape{1, 1, 8}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(spread[2 * i], 2 * (i + 1));  // by the middle of each kernel
  EXPECT_EQ(spread[1], 3 * 1 + 1 * 2 + 7 * 10 + 5 * 20);
  EXPECT_EQ(spread[7], 3 * 4 + 7 * 40);  // the element that output_padding adds
  const Tensor enlarged = value(conv_transpose2d(x, kernel({1, 2, 3, 4}, {1, 1, 2, 2}), {.stride = 2}));
  ASSERT_EQ(enlarged.shape(), (Shape{1, 1, 6, 6}));
  EXPECT_EQ(enlarged[0], 1);
  EXPECT_EQ(enlarged[1], 2);
  EXPECT_EQ(enlarged[6], 3);
  EXPECT_EQ(enlarged[35], 4 * 9);
  const Tensor highest = value(max_pool1d(-series, 2, {.padding = 1}));
  ASSERT_EQ(highest.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(highest[1], -2);
  EXPECT_EQ(highest[5], -40);
  const std::vector<float> wide = {1, 5, 2, 2, -1, 0, 2, 2};
  const Tensor pooled = value(max_pool2d(tape.input(wide, {1, 2, 4}), 2));
  EXPECT_EQ(pooled[0], 5);
  EXPECT_EQ(pooled[1], 2);
  const Tensor means = value(avg_pool2d(tape.input(wide, {1, 2, 4}), 2));
  EXPECT_EQ(means[0], 1.25);
  EXPECT_EQ(means[1], 2);
  const Tensor padded = value(avg_pool1d(tape.input(wide, {2, 4}), 2, {.stride = 1, .padding = 1}));
  ASSERT_EQ(padded.shape(), (Shape{1, 2, 5}));
  EXPECT_EQ(padded[0], 0.5);  // with a zero beside the series
  EXPECT_EQ(padded[5], -0.5);
  const std::vector<f16> large(4, f16(60000.0f));  // their sum is beyond f16
  EXPECT_EQ(value(avg_pool2d(tape.input(large, {1, 2, 2}), 2))[0], 60000);
}

TEST(Convolutions, InfiniteWeightsMeetNoZerosBetweenElements) {  // with which the reference multiplies them
  constexpr float inf = std::numeric_limits<float>::infinity();
  EagerTape tape(Device::cpu());
  const std::vector<float> steps = {1, 2}, places = {inf, 3, 4};
  const Var w = tape.input(Tensor::from(Device::cpu(), std::span(places), {1, 1, 3}));
  const Var y = conv_transpose1d(tape.input(steps, {1, 2}), w, {.stride = 2});
  const Tensor computed = value(y);
  const Reference<float> reference(tape, tape.batch(), {places, steps}, {});
  for (const int i : {0, 2}) {
    EXPECT_EQ(computed[i], inf);
    EXPECT_EQ(reference[y.id][static_cast<std::size_t>(i)], inf);
  }
  for (const int i : {1, 3}) {
    EXPECT_EQ(computed[i], i == 1 ? 3 : 6);
    EXPECT_TRUE(std::isnan(reference[y.id][static_cast<std::size_t>(i)]));
  }
  EXPECT_TRUE(std::isnan(computed[4])) << "a zero that is a stride behind the series takes part";
}

TEST(Convolutions, TakeSeveralSeriesOfEachSample) {
  Tape tape;
  Shape two = Shape::per_sample({3, 8});
  two.extent[0] = 2;
  const Var series = reshape(input(tape, Shape::per_sample({2, 3, 8}), DType::f32), two);
  const Shape convolved = conv1d(series, input(tape, Shape{4, 3, 3}, DType::f32)).shape();
  EXPECT_EQ(convolved.rank, 3);
  EXPECT_EQ(convolved.unit(), 2 * 4 * 6);
  EXPECT_EQ(max_pool1d(series, 2).shape().unit(), 2 * 3 * 4);
}

TEST(Convolutions, PrintHowTheyWalk) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({1, 9, 9}), DType::f32);
  conv2d(x, input(tape, Shape{2, 1, 3, 3}, DType::f32), {.stride = 2, .padding = 1, .dilation = 3});
  std::ostringstream text;
  conv2d(pad(x, 1, 0, 1), input(tape, Shape{2, 1, 3, 3}, DType::f32), {.groups = 2});
  text << tape;
  EXPECT_NE(text.str().find("stride 2 x 2 padding 1 x 1 dilation 3 x 3"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" in 2 groups"), std::string::npos) << text.str();
  conv2d(x, input(tape, Shape{2, 1, 3, 2}, DType::f32), {.stride = {1, 2}, .padding = {0, 1}, .dilation = {4, 1}});
  max_pool2d(x, {1, 4}, {.stride = {1, 2}});
  text << tape;
  EXPECT_NE(text.str().find("stride 1 x 2 padding 0 x 1 dilation 4 x 1"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" of 1 x 4 stride 1 x 2"), std::string::npos) << text.str();
}

TEST(Convolutions, WhatDoesNotFitIsRefusedWithItsNumbers) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3, 8, 6}), DType::f32);
  const auto weights = [&](const Shape& shape) { return input(tape, shape, DType::f32); };
  EXPECT_EQ(error_of<Error>([&] {
              conv2d(x, input(tape, Shape{4, 3, 3, 3}, DType::f64));
            }),
            "conv2d: unsupported operand types float and double");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(input(tape, Shape::per_sample({1, 2, 2}), DType::i32), 2); }),
            "max_pool2d: unsupported operand types int32 and int32");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 2, 3, 3})); }), "conv2d: images have 3 channels, weights are for 2");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 7})); }),
            "conv2d: a kernel of 3 x 7 does not fit images of 8 x 6 with stride 1, padding 0");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.padding = 3}); }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride 1, padding 3: use pad() to pad beyond the "
            "kernel's reach");
  EXPECT_EQ(error_of<Error>([&] {
              conv2d(x, weights({4, 3, 3, 3}), {.stride = -1});
            }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride -1, padding 0: strides and dilations must be "
            "positive, paddings at least 0");
  EXPECT_EQ(error_of<Error>([&] { conv2d(weights({1, 3, 8, 6}), weights({4, 3, 3, 3})); }),
            "conv2d: needs images [batch, channels, height, width] and weights [outputs, channels, rows, columns], got "
            "[1, 3, 8, 6] and [4, 3, 3, 3]");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.padding = 2, .dilation = 6}); }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride 1, padding 2, dilation 6");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.dilation = 0}); }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride 1, padding 0, dilation 0: strides and "
            "dilations must be positive, paddings at least 0");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.groups = 3}); }),
            "conv2d: images have 3 channels, weights are for 3 in each of 3 groups");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 1, 3, 3}), {.groups = 2}); }),
            "conv2d: images have 3 channels, weights are for 1 in each of 2 groups");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 1, 3, 3}), {.groups = 3}); }),
            "conv2d: 4 outputs are not shared out evenly among 3 groups");
  EXPECT_EQ(error_of<Error>([&] { conv2d(x, weights({4, 3, 3, 3}), {.groups = 0}); }),
            "conv2d: images have 3 channels, weights are for 3 in each of 0 groups");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 2, {.groups = 3}); }),
            "max_pool2d: windows of 2 x 2 with stride 2, padding 0, 3 groups do not fit images [batch, 3, 8, 6]: "
            "pools have no dilation and no groups");
  EXPECT_EQ(error_of<Error>([&] {
              Parameters parameters(Device::cpu());
              const nn::Conv2d layer(parameters.root() / "c", 3, 8, 3, {.groups = 8});
              parameters.initialize(1);
              EagerTape eager(parameters, 1);
              const std::vector<float> image(3 * 8 * 6);
              layer(eager.input(image, {3, 8, 6}));
            }),
            "conv2d: images have 3 channels, weights are for 3 in each of 8 groups (in layer 'c')");
  const Var series = input(tape, Shape::per_sample({3, 8}), DType::f32);
  EXPECT_EQ(error_of<Error>([&] { conv1d(x, weights({4, 3, 3})); }),
            "conv1d: needs series [batch, channels, steps] and weights [outputs, channels, places], got [batch, 3, 8, 6] and "
            "[4, 3, 3]");
  EXPECT_EQ(error_of<Error>([&] { conv1d(series, weights({4, 2, 3})); }),
            "conv1d: series have 3 channels, weights are for 2");
  EXPECT_EQ(error_of<Error>([&] { conv1d(series, weights({4, 1, 3}), {.groups = 2}); }),
            "conv1d: series have 3 channels, weights are for 1 in each of 2 groups");
  EXPECT_EQ(error_of<Error>([&] { conv1d(series, weights({4, 3, 9})); }),
            "conv1d: a kernel of 9 does not fit series of 8 steps with stride 1, padding 0");
  EXPECT_EQ(error_of<Error>([&] { conv_transpose1d(series, weights({4, 3, 3})); }),
            "conv_transpose1d: series have 3 channels, weights are for 4");
  EXPECT_EQ(error_of<Error>([&] { conv_transpose2d(x, weights({3, 4, 3, 3}), {.groups = 2}); }),
            "conv_transpose2d: 3 channels are not shared out evenly among 2 groups");
  EXPECT_EQ(error_of<Error>([&] { conv_transpose2d(series, weights({3, 4, 3, 3})); }),
            "conv_transpose2d: needs images [batch, channels, height, width] and weights [channels, outputs, rows, columns], "
            "got [batch, 3, 8] and [3, 4, 3, 3]");
  for (const std::int64_t too_much : {2, -1, 1 << 20})
    EXPECT_EQ(error_of<Error>([&] { conv_transpose1d(series, weights({3, 4, 3}), {.stride = 2}, too_much); }),
              "conv_transpose1d: output_padding " + std::to_string(too_much) +
                  " must be at least 0 and below the stride of 2");
  EXPECT_EQ(error_of<Error>([&] { conv_transpose2d(x, weights({3, 4, 3, 3}), {.stride = std::int64_t{1} << 62}); }),
            "conv_transpose2d: weights [3, 4, 3, 3] with stride 4611686018427387904, padding 0 give no valid output for "
            "[batch, 3, 8, 6]");
  const Var dot = input(tape, Shape::per_sample({3, 1}), DType::f32);
  EXPECT_EQ(error_of<Error>([&] { conv_transpose1d(dot, weights({3, 4, 3}), {.padding = 2}); }),
            "conv_transpose1d: weights [3, 4, 3] with stride 1, padding 2 give no valid output for [batch, 3, 1]");
  for (const auto& [outputs, groups] : {std::pair{1, 3}, std::pair{5, 3}, std::pair{1, 2}})
    EXPECT_EQ(error_of<Error>([&, outputs = outputs, groups = groups] {
                Parameters parameters(Device::cpu());
                const nn::ConvTranspose2d layer(parameters.root() / "c", 3, outputs, 3, {.groups = groups});
                parameters.initialize(1);
                EagerTape eager(parameters, 1);
                const std::vector<float> image(3 * 8 * 6);
                layer(eager.input(image, {3, 8, 6}));
              }),
              "conv_transpose2d: " + std::to_string(outputs) + " outputs are not shared out evenly among " +
                  std::to_string(groups) + " groups (in layer 'c')");
  EXPECT_EQ(error_of<Error>([&] { max_pool1d(series, 3, {.padding = 2}); }),
            "max_pool1d: windows of 3 with stride 3, padding 2 do not fit series [batch, 3, 8]: pools can be padded by half a "
            "window at most");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(input(tape, Shape{1, 1, 4, 4}, DType::f32), 2); }),
            "max_pool2d: windows of 2 x 2 with stride 2, padding 0 do not fit images [1, 1, 4, 4]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(input(tape, Shape::per_sample({1, 4, 2}), DType::f32), 3); }),
            "max_pool2d: windows of 3 x 3 with stride 3, padding 0 do not fit images [batch, 1, 4, 2]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(input(tape, Shape::per_sample({1, 2, 4}), DType::f32), 3); }),
            "max_pool2d: windows of 3 x 3 with stride 3, padding 0 do not fit images [batch, 1, 2, 4]");
  EXPECT_EQ(error_of<Error>([&] { avg_pool2d(series, 3); }),
            "avg_pool2d: windows of 3 x 3 with stride 3, padding 0 do not fit images [batch, 3, 8]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 3, {.dilation = 2}); }),
            "max_pool2d: windows of 3 x 3 with stride 3, padding 0, dilation 2 do not fit images "
            "[batch, 3, 8, 6]: pools have no dilation and no groups");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 7); }),
            "max_pool2d: windows of 7 x 7 with stride 7, padding 0 do not fit images [batch, 3, 8, 6]");
  EXPECT_EQ(error_of<Error>([&] { max_pool2d(x, 3, {.padding = 2}); }),
            "max_pool2d: windows of 3 x 3 with stride 3, padding 2 do not fit images [batch, 3, 8, 6]: pools can be padded by "
            "half a window at most");
}

}  // namespace convolution_test
