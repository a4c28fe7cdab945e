// Convolutions and pools whose kernels, windows and walks differ by axis: written-out sums, equal bits, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace convolution_by_axis_test {

using namespace both_ways;

TEST(ConvolutionsByAxis, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  using Net = Compiled<Rectangular, Inputs<f32[2][6][21], i32>>;
  const Samples<float> spectra{numbers(samples * 2 * 6 * 21), {2, 6, 21}};
  expect_same_both_ways<Rectangular, Net>(spectra, {labels(samples, 5), {}});
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

TEST(ConvolutionsByAxis, AreSumsWrittenOut) {
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

TEST(ConvolutionsByAxis, PoolsAreWindowsWrittenOut) {
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

TEST(ConvolutionsByAxis, OfOneDilationAreRecordedAsBeforeThereWereTwo) {  // saved states contain fingerprints of what is recorded
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

TEST(ConvolutionsByAxis, WhatDoesNotFitIsRefusedWithBothNumbers) {
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

}  // namespace convolution_by_axis_test
