#pragma once
#include <algorithm>

#include <gradual/core/convolution.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// Elements of a part of a workspace behind which another one begins.
constexpr std::int64_t whole_vectors(std::int64_t elements) { return (elements + 15) / 16 * 16; }

/// One image as a convolution reads it: for each channel and each column of the kernel, the rows that outputs meet, one
/// under the other, zeros around it included. So positions lie one after another under every tap, without a gap between rows.
/// Between its elements are none.
template <class T>
class ShiftedImage {
 public:
  static constexpr std::int64_t elements(const Convolution& c) {
    return c.taps() == 0 ? 0 : c.channels * c.x.kernel * plane(c);
  }

  /// `memory` has room for `elements`.
  ShiftedImage(const Convolution& c, T* memory) : c_(c), plane_(plane(c)), memory_(memory) {}

  /// Before the first image.
  void clear() const { std::fill(memory_, memory_ + elements(c_), T(0)); }

  const T* data() const { return memory_; }

  /// Where the first position's element is under a tap.
  std::int64_t offset(std::int64_t tap) const {
    const std::int64_t column = tap % c_.x.kernel, row = tap / c_.x.kernel % c_.y.kernel;
    return (tap / (c_.x.kernel * c_.y.kernel) * c_.x.kernel + column) * plane_ + row_offset(row * c_.y.dilation);
  }

  /// Takes an image [channels, y.in, x.in]; what was zero stays zero.
  void load(const T* image) const {
    const std::int64_t rows = (c_.y.out - 1) * c_.y.stride + c_.y.reach() + 1;
    for (std::int64_t in = c_.y.before < 0 ? -c_.y.before : 0; in < c_.y.in; ++in) {
      const std::int64_t row = in + c_.y.before;
      if (row >= rows) break;
      T* to = memory_ + row_offset(row);
      const T* from = image + in * c_.x.in;
      for (std::int64_t channel = 0; channel < c_.channels; ++channel, from += c_.pixels())
        for (std::int64_t column = 0; column < c_.x.kernel; ++column, to += plane_) load_row(from, column, to);
    }
  }

 private:
  /// Rows whose distance is the stride lie together.
  static constexpr std::int64_t rows_together(const Convolution& c) { return c.y.out + c.y.reach() / c.y.stride; }
  static constexpr std::int64_t plane(const Convolution& c) { return c.y.stride * rows_together(c) * c.x.out; }
  std::int64_t row_offset(std::int64_t row) const {
    return (row % c_.y.stride * rows_together(c_) + row / c_.y.stride) * c_.x.out;
  }

  void load_row(const T* from, std::int64_t column, T* to) const {
    const ConvolutionAxis& x = c_.x;
    const std::int64_t shift = column * x.dilation - x.before;  // the place of output 0
    if (x.stride == 1) {
      const std::int64_t first = shift < 0 ? -shift : 0, last = x.in - shift < x.out ? x.in - shift : x.out;
      if (first < last) copy_row(from + first + shift, last - first, to + first);
    } else {
      const std::int64_t first = shift < 0 ? (-shift + x.stride - 1) / x.stride : 0;
      const std::int64_t end = x.in <= shift ? 0 : (x.in - shift - 1) / x.stride + 1, last = end < x.out ? end : x.out;
      const T* const at = from + shift;
      if (x.stride == 2)  // known, it is read in vectors
        for (std::int64_t o = first; o < last; ++o) to[o] = at[o * 2];
      else
        for (std::int64_t o = first; o < last; ++o) to[o] = at[o * x.stride];
    }
  }

  Convolution c_;
  std::int64_t plane_;
  T* memory_;
};

}  // namespace gradual::cpu
