// Convolutions and pooling: splits, threads, eager and compiled give equal bits; what does not fit is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/reference.hpp>
#include <limits>
#include <sstream>
#include <string_view>

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
  const std::vector<float> whole = train_compiled<Net>({60}, 1, series, classes);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, series, classes));
  EXPECT_EQ(whole, train_eager<Temporal>({60}, series, classes));
  EXPECT_EQ(whole, train_eager<Temporal>({13, 21}, series, classes));
}

TEST(Convolutions, InGroupsSplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Separable, Inputs<f32[2][9][8], i32>>;
  const Samples<float> few_pixels{numbers(samples * 2 * 9 * 8), {2, 9, 8}};
  const std::vector<float> whole = train_compiled<Net>({60}, 1, few_pixels, classes);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, few_pixels, classes));
  EXPECT_EQ(whole, train_eager<Separable>({60}, few_pixels, classes));
  EXPECT_EQ(whole, train_eager<Separable>({13, 21}, few_pixels, classes));
}

TEST(Convolutions, ThatDifferByAxisSplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Rectangular, Inputs<f32[2][6][21], i32>>;
  const Samples<float> spectra{numbers(samples * 2 * 6 * 21), {2, 6, 21}};
  const std::vector<float> whole = train_compiled<Net>({60}, 1, spectra, classes);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, spectra, classes));
  EXPECT_EQ(whole, train_eager<Rectangular>({60}, spectra, classes));
  EXPECT_EQ(whole, train_eager<Rectangular>({13, 21}, spectra, classes));
}

TEST(Convolutions, TransposedSplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Decoder, Inputs<f32[7], i32>>;
  const Samples<float> codes{numbers(samples * 7), {7}};
  const std::vector<float> whole = train_compiled<Net>({60}, 1, codes, classes);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, codes, classes));
  EXPECT_EQ(whole, train_eager<Decoder>({60}, codes, classes));
  EXPECT_EQ(whole, train_eager<Decoder>({13, 21}, codes, classes));
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

/// Small integers, whose sums are exact in any order.
std::vector<float> integers(std::int64_t count, int step) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i) * step % 13 - 6);
  return values;
}

std::vector<float> all(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

/// Calls f(position of the outputs, place of the kernel, pixel) for each pixel that the kernel meets.
template <class F>
void for_met(PerAxis image, PerAxis kernel, PerAxis outputs, const Walk& walk, F f) {
  for (std::int64_t i = 0; i < outputs.rows; ++i)
    for (std::int64_t j = 0; j < outputs.columns; ++j)
      for (std::int64_t r = 0; r < kernel.rows; ++r)
        for (std::int64_t s = 0; s < kernel.columns; ++s) {
          const std::int64_t row = i * walk.stride.rows - walk.padding.rows + r * walk.dilation.rows;
          const std::int64_t column = j * walk.stride.columns - walk.padding.columns + s * walk.dilation.columns;
          if (row >= 0 && row < image.rows && column >= 0 && column < image.columns)
            f(i * outputs.columns + j, r * kernel.columns + s, row * image.columns + column);
        }
}

/// Returns how many pixels of a padded image lie behind its last window.
std::int64_t behind_windows(int axis, PerAxis image, PerAxis kernel, const Walk& walk) {
  return (image[axis] + 2 * walk.padding[axis] - 1 - (kernel[axis] - 1) * walk.dilation[axis]) % walk.stride[axis];
}

TEST(Convolutions, ThatDifferByAxisAreSumsWrittenOut) {
  struct Case {
    PerAxis image, kernel;
    Walk walk;
    PerAxis outputs;
  };
  const Case cases[] = {
      {{4, 70}, {1, 64}, {.stride = 1, .padding = {0, 32}}, {4, 71}},
      {{22, 9}, {22, 1}, {.stride = 1}, {1, 9}},
      {{7, 20}, {3, 9}, {.stride = {1, 2}, .padding = {1, 4}}, {7, 10}},
      {{9, 7}, {3, 2}, {.stride = {3, 1}, .padding = {2, 0}, .dilation = {1, 4}}, {4, 3}},
      {{8, 5}, {2, 3}, {.stride = {2, 1}, .padding = {3, 1}, .dilation = {5, 1}}, {5, 5}},
  };
  EagerTape tape(Device::cpu());
  for (const auto& [image, kernel, walk, outputs] : cases) {
    const std::int64_t pixels = image.rows * image.columns, taps = kernel.rows * kernel.columns,
                       positions = outputs.rows * outputs.columns;
    const std::vector<float> x = integers(2 * pixels, 5), w = integers(3 * 2 * taps, 7), g = integers(3 * positions, 3);
    const Var weights = tape.input(Tensor::from(Device::cpu(), std::span(w), {3, 2, kernel.rows, kernel.columns}));
    const Tensor y = value(conv2d(tape.input(x, {2, image.rows, image.columns}), weights, walk));
    ASSERT_EQ(y.shape(), (Shape{1, 3, outputs.rows, outputs.columns}));
    std::vector<float> expected(static_cast<std::size_t>(3 * positions)), back(static_cast<std::size_t>(2 * pixels));
    for (std::int64_t o = 0; o < 3; ++o)
      for (std::int64_t c = 0; c < 2; ++c)
        for_met(image, kernel, outputs, walk, [&](std::int64_t position, std::int64_t tap, std::int64_t pixel) {
          const float weight = w[static_cast<std::size_t>((o * 2 + c) * taps + tap)];
          const auto out = static_cast<std::size_t>(o * positions + position);
          const auto in = static_cast<std::size_t>(c * pixels + pixel);
          expected[out] += weight * x[in];
          back[in] += weight * g[out];
        });
    EXPECT_EQ(all(y), expected);
    const PerAxis more{behind_windows(0, image, kernel, walk), behind_windows(1, image, kernel, walk)};
    const Tensor up = value(conv_transpose2d(tape.input(g, {3, outputs.rows, outputs.columns}), weights, walk, more));
    ASSERT_EQ(up.shape(), (Shape{1, 2, image.rows, image.columns}));
    EXPECT_EQ(all(up), back);
  }
}

TEST(Convolutions, PoolsThatDifferByAxisAreWindowsWrittenOut) {
  struct Case {
    PerAxis image, size;
    Walk walk;
    PerAxis outputs;
  };
  const Case cases[] = {{{3, 16}, {1, 4}, {}, {3, 4}},
                        {{6, 5}, {2, 1}, {}, {3, 5}},
                        {{5, 9}, {3, 4}, {.stride = {1, 2}, .padding = {1, 2}}, {5, 5}},
                        {{5, 9}, {1, 8}, {.stride = {0, 3}, .padding = {0, 4}}, {5, 4}}};
  EagerTape tape(Device::cpu());
  for (const auto& [image, size, walk, outputs] : cases) {
    const std::vector<float> x = integers(image.rows * image.columns, 5);
    const Var in = tape.input(x, {1, image.rows, image.columns});
    const Tensor largest = value(max_pool2d(in, size, walk)), mean = value(avg_pool2d(in, size, walk));
    ASSERT_EQ(largest.shape(), (Shape{1, 1, outputs.rows, outputs.columns}));
    ASSERT_EQ(mean.shape(), largest.shape());
    std::vector<float> most(static_cast<std::size_t>(largest.size()), -7), sums(most.size());
    Walk windows = walk;
    windows.stride = walk.stride_or(size);
    for_met(image, size, outputs, windows, [&](std::int64_t position, std::int64_t, std::int64_t pixel) {
      const float one = x[static_cast<std::size_t>(pixel)];
      most[static_cast<std::size_t>(position)] = std::max(most[static_cast<std::size_t>(position)], one);
      sums[static_cast<std::size_t>(position)] += one;
    });
    EXPECT_EQ(all(largest), most);
    for (std::int64_t i = 0; i < mean.size(); ++i)
      EXPECT_NEAR(mean[i], sums[static_cast<std::size_t>(i)] / static_cast<float>(size.rows * size.columns), 1e-6);
  }
}

TEST(Convolutions, OfOneDilationAreRecordedAsBeforeThereWereTwo) {  // saved states contain fingerprints of what is recorded
  Tape tape;
  const Var series = input(tape, Shape::per_sample({1, 20}), DType::f32), x = reshape(series, Shape::per_sample({1, 4, 5}));
  const Var over_time = conv1d(series, input(tape, Shape{1, 1, 3}, DType::f32), {.dilation = 2});
  const Var over_both = conv2d(x, input(tape, Shape{1, 1, 2, 2}, DType::f32), {.dilation = 2});
  constexpr std::int64_t steps = 1 | 1 << 16;
  for (const Var y : {Var{&tape, tape[over_time.id].in[0]}, over_both}) {
    ASSERT_EQ(std::string_view(y.node().op->name), "conv2d");
    EXPECT_EQ(y.attributes().integer[0], steps);
    EXPECT_EQ(y.attributes().integer[1], steps | std::int64_t{2} << 48);
    EXPECT_EQ(y.attributes().number, 0);
  }
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

TEST(Convolutions, WhatDiffersByAxisIsRefusedWithBothNumbers) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3, 8, 6}), DType::f32);
  const Var series = input(tape, Shape::per_sample({3, 8}), DType::f32);
  const auto weights = [&](const Shape& shape) { return input(tape, shape, DType::f32); };
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(x, weights({4, 3, 1, 3}), {.padding = {1, 0}});
            }),
            "conv2d: a kernel of 1 x 3 does not fit images of 8 x 6 with stride 1, padding 1 x 0: use pad() to pad beyond the "
            "kernel's reach");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(x, weights({4, 3, 3, 1}), {.padding = {0, 1}});
            }),
            "conv2d: a kernel of 3 x 1 does not fit images of 8 x 6 with stride 1, padding 0 x 1: use pad() to pad beyond the "
            "kernel's reach");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(x, weights({4, 3, 3, 3}), {.stride = {0, 2}, .dilation = {4, 1}});
            }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride 1 x 2, padding 0, dilation 4 x 1");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv2d(x, weights({4, 3, 3, 3}), {.stride = {1, -2}});
            }),
            "conv2d: a kernel of 3 x 3 does not fit images of 8 x 6 with stride 1 x -2, padding 0: strides and dilations must "
            "be positive, paddings at least 0");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv_transpose2d(x, weights({3, 4, 3, 3}), {.stride = {1, 2}}, {1, 0});
            }),
            "conv_transpose2d: output_padding 1 must be at least 0 and below the stride of 1");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv_transpose2d(x, weights({3, 4, 3, 3}), {.stride = {1, 2}}, {0, 2});
            }),
            "conv_transpose2d: output_padding 2 must be at least 0 and below the stride of 2");
  EXPECT_EQ(error_of<ShapeError>([&] {
              max_pool2d(x, {1, 4}, {.padding = {1, 2}});
            }),
            "max_pool2d: windows of 1 x 4 with stride 1 x 4, padding 1 x 2 do not fit images [batch, 3, 8, 6]: pools can be "
            "padded by half a window at most");
  EXPECT_EQ(error_of<ShapeError>([&] {
              max_pool2d(x, {2, 3}, {.padding = {1, 2}});
            }),
            "max_pool2d: windows of 2 x 3 with stride 2 x 3, padding 1 x 2 do not fit images [batch, 3, 8, 6]: pools can be "
            "padded by half a window at most");
  EXPECT_EQ(error_of<ShapeError>([&] {
              avg_pool2d(x, {9, 1});
            }),
            "avg_pool2d: windows of 9 x 1 with stride 9 x 1, padding 0 do not fit images [batch, 3, 8, 6]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv1d(series, weights({4, 3, 3}), {.stride = {1, 2}});
            }),
            "conv1d: series have one axis, not stride 1 x 2, padding 0");
  EXPECT_EQ(error_of<ShapeError>([&] {
              conv_transpose1d(series, weights({3, 4, 3}), {.dilation = {1, 2}});
            }),
            "conv_transpose1d: series have one axis, not stride 1, padding 0, dilation 1 x 2");
  EXPECT_EQ(error_of<ShapeError>([&] {
              max_pool1d(series, 2, {.padding = {0, 1}});
            }),
            "max_pool1d: series have one axis, not stride 2, padding 0 x 1");
  EXPECT_EQ(error_of<ShapeError>([&] {
              Parameters parameters(Device::cpu());
              const nn::Conv2d layer(parameters.root() / "time", 3, 4, {1, 64}, {.padding = {0, 28}});
              parameters.initialize(1);
              EagerTape eager(parameters, 1);
              const std::vector<float> image(3 * 8 * 6);
              layer(eager.input(image, {3, 8, 6}));
            }),
            "conv2d: a kernel of 1 x 64 does not fit images of 8 x 6 with stride 1, padding 0 x 28 (in layer 'time')");
}

}  // namespace convolution_test
