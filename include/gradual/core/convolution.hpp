#pragma once
#include <cstdint>
#include <numeric>

#include <gradual/core/config.hpp>

namespace gradual {

struct AxisPhase;

/// One axis of a convolution: under place t of the kernel, output o meets place o·stride + t·dilation − before of the image,
/// which has spread − 1 zeros between its elements and zeros around it.
struct ConvolutionAxis {
  std::int64_t in = 0, kernel = 0, out = 0;
  std::int64_t stride = 1, spread = 1, before = 0, dilation = 1;

  /// Returns the distance from the first to the last element that an output meets.
  constexpr std::int64_t reach() const { return (kernel - 1) * dilation; }
  /// Returns the element of the image that an output meets, or −1 for a zero.
  GRADUAL_HD constexpr std::int64_t at(std::int64_t output, std::int64_t place) const {
    const std::int64_t i = output * stride + place * dilation - before;
    if (spread == 1) return i >= 0 && i < in ? i : -1;  // without divisions, for which a GPU has no unit
    return i >= 0 && i % spread == 0 && i / spread < in ? i / spread : -1;
  }

  /// Returns the distance between outputs that meet elements under the same places of the kernel, and zeros under the others.
  constexpr std::int64_t period() const { return spread / std::gcd(stride, spread); }
  constexpr std::int64_t phases() const { return out < period() ? out : period(); }
  constexpr AxisPhase phase(std::int64_t first) const;
  /// Returns the number of pairs of an output and a place under which it meets no zero between elements.
  constexpr std::int64_t pairs() const;

  friend constexpr bool operator==(const ConvolutionAxis&, const ConvolutionAxis&) = default;
};

/// A phase of an axis: every `step`-th output from `first` on, which meets elements under every `tap_step`-th place from `tap`
/// on. `axis` consists of these alone and has no zeros between elements.
struct AxisPhase {
  ConvolutionAxis axis;
  std::int64_t first, step, tap, tap_step;

  constexpr bool has_place(std::int64_t place) const { return place % tap_step == tap; }
  constexpr std::int64_t places_before(std::int64_t place) const { return place <= tap ? 0 : (place - tap - 1) / tap_step + 1; }
};

constexpr AxisPhase ConvolutionAxis::phase(std::int64_t first) const {
  const auto met = [&](std::int64_t place) { return first * stride + place * dilation - before; };
  const std::int64_t common = std::gcd(dilation, spread);
  AxisPhase phase{{in, 0, 0, stride / std::gcd(stride, spread), 1, 0, dilation / common}, first, period(), 0, spread / common};
  while (phase.tap < kernel && met(phase.tap) % spread != 0) ++phase.tap;
  phase.axis.kernel = phase.places_before(kernel);
  phase.axis.out = (out - 1 - first) / phase.step + 1;
  if (phase.axis.kernel > 0) phase.axis.before = -met(phase.tap) / spread;
  return phase;
}

constexpr std::int64_t ConvolutionAxis::pairs() const {
  if (spread == 1) return out * kernel;
  std::int64_t sum = 0;
  for (std::int64_t p = 0; p < phases(); ++p) sum += phase(p).axis.out * phase(p).axis.kernel;
  return sum;
}

/// The form of a convolution of images [channels, y.in, x.in]: y[o] = Σ over channel, row, column of the kernel, in this order,
/// of weight · image. Weights are [outputs, channels, rows, columns]; if flipped, [channels, outputs, rows, columns], read from
/// their last row and column: the adjoint of the convolution with these weights. If channels are in groups, each group is
/// convolved with its own weights, and an image of `groups` groups is stored as `groups` images, one after another.
struct Convolution {
  std::int64_t channels = 0, outputs = 0;  ///< of one group
  ConvolutionAxis y, x;
  bool flipped = false;
  std::int64_t groups = 1;

  GRADUAL_HD constexpr std::int64_t taps() const { return channels * y.kernel * x.kernel; }
  GRADUAL_HD constexpr std::int64_t positions() const { return y.out * x.out; }
  GRADUAL_HD constexpr std::int64_t pixels() const { return y.in * x.in; }
  GRADUAL_HD constexpr std::int64_t image() const { return channels * pixels(); }      ///< elements of a group's image
  GRADUAL_HD constexpr std::int64_t result() const { return outputs * positions(); }    ///< of a group's result
  GRADUAL_HD constexpr std::int64_t weights() const { return outputs * taps(); }        ///< of a group
  /// Returns the multiply-adds for all groups of an image, without those by zeros between elements.
  constexpr std::int64_t multiply_adds() const { return groups * outputs * channels * y.pairs() * x.pairs(); }

  /// Returns the place of the weight of an output and a tap among those of its group.
  GRADUAL_HD constexpr std::int64_t weight(std::int64_t output, std::int64_t tap) const {
    if (!flipped) return output * taps() + tap;
    const std::int64_t kernel = y.kernel * x.kernel, channel = tap / kernel;
    return (channel * outputs + output) * kernel + kernel - 1 - tap % kernel;
  }
  /// Returns the place of the pixel that a position of the outputs meets under a tap, or −1 for a zero.
  GRADUAL_HD constexpr std::int64_t pixel(std::int64_t position, std::int64_t tap) const {
    const std::int64_t row = y.at(position / x.out, tap / x.kernel % y.kernel), column = x.at(position % x.out, tap % x.kernel);
    return row < 0 || column < 0 ? -1 : (tap / (y.kernel * x.kernel) * y.in + row) * x.in + column;
  }
};

}  // namespace gradual
