#pragma once
#include <algorithm>
#include <type_traits>

#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/met_outputs.hpp>

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

  /// The taps in turn, without divisions for each.
  class Tap {
   public:
    Tap(const ShiftedImage& image, std::int64_t tap)
        : image_(image), column_(tap % image.c_.x.kernel), row_(tap / image.c_.x.kernel % image.c_.y.kernel),
          channel_(tap / (image.c_.x.kernel * image.c_.y.kernel)), in_plane_(image.row_offset(row_ * image.c_.y.dilation)) {}

    /// Where the first position's element is.
    std::int64_t offset() const { return (channel_ * image_.c_.x.kernel + column_) * image_.plane_ + in_plane_; }

    Tap& operator++() {
      if (++column_ < image_.c_.x.kernel) return *this;
      column_ = 0;
      if (++row_ == image_.c_.y.kernel) row_ = 0, ++channel_;
      in_plane_ = image_.row_offset(row_ * image_.c_.y.dilation);
      return *this;
    }

   private:
    const ShiftedImage& image_;
    std::int64_t column_, row_, channel_, in_plane_;
  };

  /// Takes an image [channels, y.in, x.in]; what was zero stays zero.
  void load(const T* image) const {
    for (std::int64_t column = 0; column < c_.x.kernel; ++column)
      for (std::int64_t row = 0; row < c_.y.stride; ++row) load_rows(image, column, row);
  }

 private:
  /// Rows whose distance is the stride lie together.
  static constexpr std::int64_t rows_together(const Convolution& c) { return c.y.out + c.y.reach() / c.y.stride; }
  static constexpr std::int64_t plane(const Convolution& c) { return c.y.stride * rows_together(c) * c.x.out; }
  std::int64_t row_offset(std::int64_t row) const {
    return (row % c_.y.stride * rows_together(c_) + row / c_.y.stride) * c_.x.out;
  }

  /// The rows, of every channel, that lie together with one, as outputs meet them under a column of the kernel.
  void load_rows(const T* image, std::int64_t column, std::int64_t row) const {
    const MetOutputs columns(c_.x, column * c_.x.dilation, c_.x.out), rows(c_.y, row, rows_together(c_));
    const std::int64_t count = columns.last - columns.first;
    if (count <= 0 || rows.first >= rows.last) return;
    const T* from = image + (rows.first * c_.y.stride + rows.shift) * c_.x.in + columns.first * c_.x.stride + columns.shift;
    T* to = memory_ + column * plane_ + row_offset(row) + rows.first * c_.x.out + columns.first;
    const auto copy = [&](auto copy_one) __attribute__((always_inline)) {
      for (std::int64_t channel = 0; channel < c_.channels; ++channel, from += c_.pixels(), to += c_.x.kernel * plane_)
        for (std::int64_t line = 0; line < rows.last - rows.first; ++line)
          copy_one(from + line * c_.y.stride * c_.x.in, to + line * c_.x.out);
    };
    const auto apart = [&](auto stride) __attribute__((always_inline)) {
      copy([=](const T* f, T* t) __attribute__((always_inline)) {
        GRADUAL_IVDEP
        for (std::int64_t o = 0; o < count; ++o) t[o] = f[o * stride];
      });
    };
    if (c_.x.stride == 1) copy([=](const T* f, T* t) __attribute__((always_inline)) { copy_row(f, count, t); });
    else if (c_.x.stride == 2) apart(std::integral_constant<std::int64_t, 2>{});  // known, it is read in vectors
    else apart(c_.x.stride);
  }

  Convolution c_;
  std::int64_t plane_;
  T* memory_;
};

}  // namespace gradual::cpu
