#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// One axis of a convolution: output o meets, under place t of the kernel, place o·stride + t·dilation − before of the image,
/// between whose elements lie spread − 1 zeros, and around it zeros.
struct ConvolutionAxis {
  std::int64_t in = 0, kernel = 0, out = 0;
  std::int64_t stride = 1, spread = 1, before = 0, dilation = 1;

  /// From the first to the last element that an output meets.
  constexpr std::int64_t reach() const { return (kernel - 1) * dilation; }
  /// The element of the image that an output meets, or −1 for a zero.
  GRADUAL_HD constexpr std::int64_t at(std::int64_t output, std::int64_t place) const {
    const std::int64_t i = output * stride + place * dilation - before;
    if (spread == 1) return i >= 0 && i < in ? i : -1;  // without divisions, which a GPU has no unit for
    return i >= 0 && i % spread == 0 && i / spread < in ? i / spread : -1;
  }
};

/// What a convolution of images [channels, y.in, x.in] is made of: y[o] = Σ over channel, row, column of the kernel, in this
/// order, of weight · image. Weights are [outputs, channels, rows, columns]; flipped, [channels, outputs, rows, columns],
/// read from their last row and column: the adjoint of the convolution with these weights. Where channels are in groups, that
/// is a convolution of each group with its own weights, and images of `groups` groups are `groups` images, one after another.
struct Convolution {
  std::int64_t channels = 0, outputs = 0;  ///< of one group
  ConvolutionAxis y, x;
  bool flipped = false;
  std::int64_t groups = 1;

  GRADUAL_HD constexpr std::int64_t taps() const { return channels * y.kernel * x.kernel; }
  GRADUAL_HD constexpr std::int64_t positions() const { return y.out * x.out; }
  GRADUAL_HD constexpr std::int64_t pixels() const { return y.in * x.in; }
  GRADUAL_HD constexpr std::int64_t image() const { return channels * pixels(); }      ///< elements of a group's image
  GRADUAL_HD constexpr std::int64_t result() const { return outputs * positions(); }    ///< and of what becomes of it
  GRADUAL_HD constexpr std::int64_t weights() const { return outputs * taps(); }        ///< of a group
  constexpr std::int64_t multiply_adds() const { return groups * weights() * positions(); }  ///< for all groups of an image

  /// Where the weight of an output and a tap stands, among those of its group.
  GRADUAL_HD constexpr std::int64_t weight(std::int64_t output, std::int64_t tap) const {
    if (!flipped) return output * taps() + tap;
    const std::int64_t kernel = y.kernel * x.kernel, channel = tap / kernel;
    return (channel * outputs + output) * kernel + kernel - 1 - tap % kernel;
  }
  /// Where the pixel stands that a position of the outputs meets under a tap, or −1 for a zero.
  GRADUAL_HD constexpr std::int64_t pixel(std::int64_t position, std::int64_t tap) const {
    const std::int64_t row = y.at(position / x.out, tap / x.kernel % y.kernel), column = x.at(position % x.out, tap % x.kernel);
    return row < 0 || column < 0 ? -1 : (tap / (y.kernel * x.kernel) * y.in + row) * x.in + column;
  }
};

}  // namespace gradual
