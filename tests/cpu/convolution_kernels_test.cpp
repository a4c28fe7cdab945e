// Convolutions and the adjoints of their weights at the edges of tiles, panels and blocks, alone and in parts: equal
// bits to sums written out, nothing read or written beyond the operands and the planned workspace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <gradual/core/cpu/batch_convolution.hpp>
#include <gradual/core/cpu/convolution.hpp>
#include <limits>

#include "../expect_window.hpp"

namespace convolution_kernels_test {

using namespace gradual;
using namespace kernels;

ConvolutionAxis axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                     std::int64_t dilation = 1) {
  return {in, kernel, (in + 2 * padding - 1 - (kernel - 1) * dilation) / stride + 1, stride, 1, padding, dilation};
}
/// Returns the axis of an adjoint, which has zeros between the elements of the image.
ConvolutionAxis spread_axis(std::int64_t in, std::int64_t kernel, std::int64_t spread, std::int64_t before,
                            std::int64_t out, std::int64_t stride = 1, std::int64_t dilation = 1) {
  return {in, kernel, out, stride, spread, before, dilation};
}

struct Case {
  const char* what;
  Convolution c;
  std::int64_t images;
};

const Case cases[] = {
    {"one pixel", {1, 1, axis(1, 1, 1, 0), axis(1, 1, 1, 0), false}, 2},
    {"each pixel", {19, 18, axis(9, 1, 1, 0), axis(17, 1, 1, 0), false}, 3},
    {"an adjoint of each pixel", {18, 3, axis(4, 1, 1, 0), axis(6, 1, 1, 0), true}, 2},
    {"each pixel, in groups", {2, 3, axis(4, 1, 1, 0), axis(6, 1, 1, 0), false, 3}, 2},
    {"pixels beside the image", {2, 3, axis(4, 1, 1, 1), spread_axis(6, 1, 1, 1, 6), false}, 2},
    {"the first of an image", {2, 3, spread_axis(6, 1, 1, 0, 4), axis(5, 1, 1, 0), false}, 2},
    {"no padding", {2, 3, axis(5, 3, 1, 0), axis(6, 2, 1, 0), false}, 3},
    {"padding", {3, 17, axis(6, 3, 1, 1), axis(7, 3, 1, 1), false}, 4},
    {"more padding than image", {1, 2, axis(2, 5, 1, 4), axis(1, 5, 1, 4), false}, 3},
    {"a stride", {2, 33, axis(8, 3, 2, 1), axis(9, 3, 2, 1), false}, 3},
    {"a stride that leaves a row and a column", {2, 3, axis(7, 2, 2, 0), axis(9, 2, 2, 0), false}, 3},
    {"no channels", {0, 2, axis(3, 2, 1, 0), axis(3, 2, 1, 0), false}, 2},
    {"a stride over the kernel", {2, 5, axis(11, 2, 3, 0), axis(10, 2, 3, 1), false}, 3},
    {"rows of 40, a chain of more than a block", {15, 4, axis(3, 3, 1, 1), axis(40, 3, 1, 1), false}, 2},
    {"a plane of more than a block", {1, 2, axis(12, 3, 1, 1), axis(17, 3, 1, 1), false}, 3},
    {"the same of many outputs", {1, 18, axis(12, 3, 1, 1), axis(17, 3, 1, 1), false}, 3},
    {"more taps than are copied together", {9, 2, axis(4, 3, 1, 1), axis(4, 3, 1, 1), false}, 5},
    {"an adjoint", {3, 2, axis(6, 3, 1, 1), axis(7, 3, 1, 1), true}, 3},
    {"an adjoint of a stride", {17, 2, spread_axis(4, 3, 2, 1, 8), spread_axis(5, 3, 2, 1, 9), true}, 3},
    {"an adjoint of a stride that left a row",
     {2, 3, spread_axis(3, 2, 3, 1, 11), spread_axis(4, 2, 3, 1, 12), true},
     3},
    {"an adjoint of a stride, chains of three blocks",
     {13, 3, spread_axis(4, 5, 2, 2, 9), spread_axis(5, 5, 2, 2, 11), true},
     2},
    {"an adjoint of the most padding", {2, 3, spread_axis(5, 3, 2, 0, 12), spread_axis(4, 3, 2, 0, 9), true}, 3},
    {"an adjoint without padding", {2, 3, spread_axis(3, 4, 2, 3, 8), spread_axis(2, 4, 2, 3, 6), true}, 3},
    {"a stride and zeros between", {2, 3, spread_axis(4, 3, 2, 1, 4, 2), spread_axis(5, 3, 3, 1, 5, 2), false}, 3},
    {"a dilation", {2, 17, axis(9, 3, 1, 2, 2), axis(11, 2, 1, 0, 3), false}, 3},
    {"a dilation over the image", {2, 3, axis(3, 2, 1, 4, 5), axis(40, 3, 1, 8, 4), false}, 2},
    {"a stride and a dilation", {3, 5, axis(12, 3, 2, 3, 3), axis(13, 2, 3, 2, 2), false}, 3},
    {"a stride that divides the dilation", {2, 3, axis(14, 3, 2, 1, 4), axis(9, 2, 2, 0, 2), false}, 3},
    {"an adjoint of a dilation", {3, 2, axis(6, 3, 1, 2, 2), axis(7, 2, 1, 2, 3), true}, 3},
    {"an adjoint of a stride and a dilation",
     {2, 3, spread_axis(4, 3, 2, 3, 9, 1, 2), spread_axis(3, 2, 3, 1, 12, 1, 4), true},
     3},
    {"two groups", {3, 17, axis(6, 3, 1, 1), axis(7, 3, 1, 1), false, 2}, 4},
    {"a group for each channel", {1, 1, axis(8, 3, 2, 1), axis(9, 3, 2, 1), false, 5}, 3},
    {"groups of one channel and two outputs", {1, 2, axis(12, 3, 1, 1), axis(17, 3, 1, 1), false, 3}, 2},
    {"one output of more than a wide tile's positions", {1, 1, axis(12, 3, 1, 1), axis(17, 3, 1, 1), false, 3}, 2},
    {"three outputs of as many, chains of two blocks", {15, 3, axis(12, 3, 1, 1), axis(17, 3, 1, 1), false}, 2},
    {"an adjoint of a stride as long as the kernel",
     {3, 2, spread_axis(4, 2, 2, 1, 8), spread_axis(5, 3, 3, 2, 15), true, 2},
     3},
    {"the same of images that are no multiple of it",
     {3, 2, spread_axis(4, 2, 2, 1, 9), spread_axis(5, 3, 3, 2, 16), true},
     3},
    {"an adjoint of groups", {2, 3, spread_axis(4, 3, 2, 1, 8), spread_axis(5, 3, 2, 1, 9), true, 4}, 3},
    {"one row, a kernel of more than a wide tile", {2, 1, axis(1, 1, 1, 0), axis(190, 165, 1, 3), false}, 2},
    {"one row, a long kernel, a stride, three outputs", {2, 3, axis(1, 1, 1, 0), axis(200, 70, 3, 4), false}, 3},
    {"one row, a long kernel, two outputs of each group", {1, 2, axis(1, 1, 1, 0), axis(60, 21, 1, 0), false, 3}, 2},
    {"one row of outputs of two rows, a long kernel", {2, 1, axis(3, 2, 3, 1, 2), axis(60, 17, 2, 3), false}, 3},
    {"one position of two rows, a long kernel", {1, 2, axis(2, 2, 1, 0), axis(16, 16, 1, 0), false}, 3},
    {"one row, a long kernel, a chain of more than a block", {1, 1, axis(1, 1, 1, 0), axis(420, 20, 2, 0), false}, 2},
    {"a kernel of one row over several", {2, 3, axis(4, 1, 1, 0), axis(40, 17, 1, 8), false}, 3},
    {"a kernel of one column, in groups", {1, 2, axis(6, 6, 1, 0), axis(19, 1, 1, 0), false, 3}, 3},
    {"a stride of columns alone", {2, 3, axis(7, 3, 1, 1), axis(20, 9, 2, 4), false}, 3},
    {"a dilation of rows alone", {2, 3, axis(9, 3, 1, 4, 4), axis(8, 2, 1, 1), false}, 3},
    {"an adjoint of a stride of columns alone", {3, 2, axis(7, 3, 1, 1), spread_axis(10, 9, 2, 4, 20), true}, 3},
    {"rows of outputs under a long kernel", {1, 1, axis(4, 2, 1, 0), axis(40, 17, 1, 0), false}, 3},
    {"one row, a kernel as long as it", {2, 2, axis(1, 1, 1, 0), axis(17, 17, 1, 0), false}, 3},
    {"one row, a stride and a dilation", {3, 9, axis(1, 1, 1, 0), axis(60, 5, 4, 6, 3), false}, 3},
    {"one row, a dilation over it", {2, 1, axis(1, 1, 1, 0), axis(20, 18, 1, 90, 8), false}, 3},
    {"one row, an adjoint of a stride", {2, 3, axis(1, 1, 1, 0), spread_axis(20, 7, 2, 6, 45), true}, 3},
};

/// Returns the pixel at a place of the image once it is padded and spread as a whole.
template <class T>
T pixel_by_hand(const Convolution& c, const T* image, std::int64_t channel, std::int64_t row, std::int64_t column) {
  const std::int64_t in_row = row - c.y.before, in_column = column - c.x.before;
  if (in_row < 0 || in_column < 0 || in_row % c.y.spread != 0 || in_column % c.x.spread != 0) return T(0);
  if (in_row / c.y.spread >= c.y.in || in_column / c.x.spread >= c.x.in) return T(0);
  return image[(channel * c.y.in + in_row / c.y.spread) * c.x.in + in_column / c.x.spread];
}

/// Calls f(tap, channel, row, column) in the order of taps.
template <class F>
void for_taps(const Convolution& c, F f) {
  std::int64_t tap = 0;
  for (std::int64_t channel = 0; channel < c.channels; ++channel)
    for (std::int64_t r = 0; r < c.y.kernel; ++r)
      for (std::int64_t s = 0; s < c.x.kernel; ++s) f(tap++, channel, r, s);
}

template <class T>
void expect_convolution(const Case& test) {
  const Convolution& c = test.c;
  const Operand<T> x(numbers<T>(test.images * c.groups * c.channels * c.pixels(), 1)),
      w(numbers<T>(c.groups * c.outputs * c.taps(), 2));
  std::vector<T> expected;
  for (std::int64_t image = 0; image < test.images; ++image)
    for (std::int64_t output = 0; output < c.groups * c.outputs; ++output)
      for (std::int64_t i = 0; i < c.y.out; ++i)
        for (std::int64_t j = 0; j < c.x.out; ++j) {
          const std::int64_t group = output / c.outputs, o = output % c.outputs;
          std::vector<T> weights, pixels;
          for_taps(c, [&](std::int64_t, std::int64_t channel, std::int64_t r, std::int64_t s) {
            const std::int64_t straight = ((o * c.channels + channel) * c.y.kernel + r) * c.x.kernel + s;
            const std::int64_t turned =
                ((channel * c.outputs + o) * c.y.kernel + c.y.kernel - 1 - r) * c.x.kernel + c.x.kernel - 1 - s;
            weights.push_back(w[group * c.outputs * c.taps() + (c.flipped ? turned : straight)]);
            pixels.push_back(pixel_by_hand(c, x.data(), (image * c.groups + group) * c.channels + channel,
                                           i * c.y.stride + r * c.y.dilation, j * c.x.stride + s * c.x.dilation));
          });
          expected.push_back(canonical_sum<T>(c.taps(), c.taps(), [&](T chain, std::int64_t tap) {
            return math::fma(weights[static_cast<std::size_t>(tap)], pixels[static_cast<std::size_t>(tap)], chain);
          }));
        }
  for (const int parts : {1, 3}) {
    Memory<T> y(static_cast<std::int64_t>(expected.size()));
    for (int part = 0; part < parts; ++part) {
      Memory<T> space(cpu::convolution_space<T>(c));
      cpu::convolution(c, x.data(), w.data(), y.data(), test.images, space.data(), {part, parts});
      EXPECT_TRUE(space.kept_inside()) << test.what;
    }
    EXPECT_TRUE(y.kept_inside()) << test.what;
    EXPECT_EQ(first_difference(y, expected), -1) << test.what << ", " << parts << " parts";
  }
}

TEST(ConvolutionKernels, ConvolutionsAtTheEdges) {
  for (const Case& test : cases) {
    expect_convolution<float>(test);
    expect_convolution<double>(test);
  }
}

TEST(ConvolutionKernels, OneImageIsSharedOutByItsPositions) {
  const Convolution c{2, 3, axis(9, 3, 1, 1), axis(17, 3, 1, 1), false};
  const Operand<float> x(numbers<float>(c.channels * c.pixels(), 1)), w(numbers<float>(c.weights(), 2));
  std::vector<int> writers(static_cast<std::size_t>(c.result()));
  for (int part = 0; part < 3; ++part) {
    Memory<float> y(c.result()), space(cpu::convolution_space<float>(c));
    std::fill_n(y.data(), c.result(), std::numeric_limits<float>::infinity());
    cpu::convolution(c, x.data(), w.data(), y.data(), 1, space.data(), {part, 3});
    int written = 0;
    for (std::size_t i = 0; i < writers.size(); ++i)
      if (std::isfinite(y.data()[i])) ++writers[i], ++written;
    EXPECT_GT(written, 0) << part;
  }
  EXPECT_EQ(std::ranges::count(writers, 1), c.result());
}

TEST(ConvolutionKernels, PhasesThatReadImagesAlikeHaveOneCopy) {
  const Convolution c{8, 3, spread_axis(16, 4, 4, 3, 64), spread_axis(16, 4, 4, 3, 64), true};
  EXPECT_LT(cpu::convolution_space<float>(c), 2 * c.image() + c.result());
}

TEST(ConvolutionKernels, OneRowIsCopiedOnceForAllColumnsOfTheKernel) {
  const Convolution c{3, 2, axis(1, 1, 1, 0), axis(256, 64, 1, 0), false};
  const std::int64_t offsets = c.taps() * std::int64_t{sizeof(std::int64_t) / sizeof(float)};
  EXPECT_LE(cpu::convolution_space<float>(c), c.image() + offsets + 256);
  EXPECT_LE(cpu::BatchConvolutionSpace<float>::elements(c), c.image() + 2 * c.weights() + 256);  // and nothing is packed
}

template <class T, class W = T>
void expect_batch_convolution(const Case& test, std::int64_t images, std::int64_t samples) {
  const Convolution& c = test.c;
  const std::int64_t positions = c.positions(), p = images * positions;
  const std::int64_t channels = c.groups * c.channels, outputs = c.groups * c.outputs;
  const Operand<T> x(numbers<T>(samples * images * channels * c.pixels(), 1)), g(numbers<T>(samples * p * outputs, 2));
  std::vector<W> expected;
  for (std::int64_t o = 0; o < outputs; ++o)
    for_taps(c, [&](std::int64_t, std::int64_t channel, std::int64_t r, std::int64_t s) {
      expected.push_back(canonical_sum<T, W>(samples * p, p, [&](T chain, std::int64_t at) {
        const std::int64_t image = at / positions, position = at % positions;
        const T pixel = pixel_by_hand(c, x.data(), image * channels + o / c.outputs * c.channels + channel,
                                      position / c.x.out * c.y.stride + r * c.y.dilation,
                                      position % c.x.out * c.x.stride + s * c.x.dilation);
        return math::fma(pixel, g[(image * outputs + o) * positions + position], chain);
      }));
    });
  expect_window<T>(expected, samples, p, cpu::BatchConvolutionSpace<T>::template elements<W>(c), test.what,
                   [&](const cpu::WindowPart<T, W>& window, T* space, cpu::Part part) {
                     cpu::batch_convolution(c, images, x.data() + window.begin / positions * channels * c.pixels(),
                                            g.data() + window.begin * outputs, window, space, part);
                   });
}

TEST(ConvolutionKernels, AdjointsOfWeightsAtTheEdges) {
  for (const Case& test : cases) {
    if (test.c.y.spread > 1 || test.c.flipped) continue;  // adjoints of weights have plain images
    expect_batch_convolution<float>(test, 1, 9);
    expect_batch_convolution<double>(test, 1, 3);
    expect_batch_convolution<float, double>(test, 1, 3);
  }
  expect_batch_convolution<float>(cases[1], 3, 9);
  expect_batch_convolution<float>(cases[0], 1, 260);
}

TEST(ConvolutionKernels, AWindowWithoutSamplesLeavesItsSumsAlone) {
  Memory<float> total(numbers<float>(1, 1)), open(1), space(cpu::BatchConvolutionSpace<float>::elements(cases[0].c));
  cpu::batch_convolution(cases[0].c, 1, total.data(), total.data(), {total.data(), open.data(), 0, 0, true, true},
                         space.data());
  EXPECT_EQ(first_difference(total, numbers<float>(1, 1)), -1);
}

}  // namespace convolution_kernels_test
