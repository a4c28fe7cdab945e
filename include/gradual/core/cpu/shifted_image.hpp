#pragma once
#include <algorithm>
#include <type_traits>

#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/met_outputs.hpp>

namespace gradual::cpu {

/// Returns the elements of a part of a workspace, rounded up so that another part can begin behind it.
constexpr std::int64_t whole_vectors(std::int64_t elements) { return (elements + 15) / 16 * 16; }

/// Where a column of the kernel finds the first position's element: in which copy of a channel, and how far from its beginning.
struct ColumnPlace {
  std::int64_t copy = 0, element = 0;
};

/// One image as a convolution reads it: for each channel and each column of the kernel, the rows that outputs meet, one under
/// the other, with the zeros around it. So positions lie one after another under every tap, without gaps between rows. It has
/// no zeros between elements. One row of outputs, as over time, has no gaps: all columns of the kernel read one copy or, with a
/// stride, as many as the stride is long, each column from its own place.
template <class T>
class ShiftedImage {
 public:
  static constexpr std::int64_t elements(const Convolution& c) {
    if (c.taps() == 0) return 0;
    const ShiftedImage image(c, nullptr);
    return c.channels * image.copies_ * image.plane_;
  }

  /// `memory` has room for `elements`.
  constexpr ShiftedImage(const Convolution& c, T* memory)
      : c_(c), shares_(shares(c)), copies_(shares_ ? c.x.stride : c.x.kernel), rows_(together(c.y)),
        row_(shares_ ? together(c.x) : c.x.out), plane_(c.y.stride * rows_ * row_), memory_(memory) {}

  /// Clears the memory, before the first image.
  void clear() const { std::fill(memory_, memory_ + elements(c_), T(0)); }

  const T* data() const { return memory_; }

  /// The taps in turn, without divisions for each.
  class Tap {
   public:
    Tap(const ShiftedImage& image, std::int64_t tap)
        : image_(image), step_(image.place(1)), column_(tap % image.c_.x.kernel),
          row_(tap / image.c_.x.kernel % image.c_.y.kernel), channel_(tap / (image.c_.x.kernel * image.c_.y.kernel)),
          at_(image.place(column_)), in_plane_(image.row_offset(row_ * image.c_.y.dilation)) {}

    /// Returns where the first position's element is.
    std::int64_t offset() const {
      return (channel_ * image_.copies_ + at_.copy) * image_.plane_ + in_plane_ + at_.element;
    }

    Tap& operator++() {
      if (++column_ < image_.c_.x.kernel) {
        at_ = {at_.copy + step_.copy, at_.element + step_.element};
        if (at_.copy >= image_.copies_) at_ = {at_.copy - image_.copies_, at_.element + 1};
        return *this;
      }
      column_ = 0;
      at_ = {};
      if (++row_ == image_.c_.y.kernel) row_ = 0, ++channel_;
      in_plane_ = image_.row_offset(row_ * image_.c_.y.dilation);
      return *this;
    }

   private:
    const ShiftedImage& image_;
    ColumnPlace step_;
    std::int64_t column_, row_, channel_;
    ColumnPlace at_;
    std::int64_t in_plane_;
  };

  /// Loads an image [channels, y.in, x.in]; what was zero stays zero.
  void load(const T* image) const {
    for (std::int64_t copy = 0; copy < copies_; ++copy)
      for (std::int64_t row = 0; row < c_.y.stride; ++row) load_rows(image, copy, row);
  }

 private:
  /// Returns how many rows, or columns, lie together: those whose distance is the stride.
  static constexpr std::int64_t together(const ConvolutionAxis& axis) { return axis.out + axis.reach() / axis.stride; }
  /// Whether columns of the kernel read the same copies, which they do if these take no more memory.
  static constexpr bool shares(const Convolution& c) {
    return c.y.out == 1 && c.x.stride * together(c.x) <= c.x.kernel * c.x.out;
  }
  std::int64_t row_offset(std::int64_t row) const {
    return (row % c_.y.stride * rows_ + row / c_.y.stride) * row_;
  }
  /// Returns where a column of the kernel reads.
  ColumnPlace place(std::int64_t column) const {
    if (!shares_) return {column, 0};
    return {column * c_.x.dilation % c_.x.stride, column * c_.x.dilation / c_.x.stride};
  }

  /// Loads into one of the copies the rows of every channel that lie together with `row`.
  void load_rows(const T* image, std::int64_t copy, std::int64_t row) const {
    const MetOutputs columns(c_.x, shares_ ? copy : copy * c_.x.dilation, row_), rows(c_.y, row, rows_);
    const std::int64_t count = columns.last - columns.first;
    if (count <= 0 || rows.first >= rows.last) return;
    const T* from = image + (rows.first * c_.y.stride + rows.shift) * c_.x.in + columns.first * c_.x.stride + columns.shift;
    T* to = memory_ + copy * plane_ + row_offset(row) + rows.first * row_ + columns.first;
    const auto copy_rows = [&](auto copy_one) __attribute__((always_inline)) {
      for (std::int64_t channel = 0; channel < c_.channels; ++channel, from += c_.pixels(), to += copies_ * plane_)
        for (std::int64_t line = 0; line < rows.last - rows.first; ++line)
          copy_one(from + line * c_.y.stride * c_.x.in, to + line * row_);
    };
    const auto apart = [&](auto stride) __attribute__((always_inline)) {
      copy_rows([=](const T* f, T* t) __attribute__((always_inline)) {
        GRADUAL_IVDEP
        for (std::int64_t o = 0; o < count; ++o) t[o] = f[o * stride];
      });
    };
    if (c_.x.stride == 1) copy_rows([=](const T* f, T* t) __attribute__((always_inline)) { copy_row(f, count, t); });
    else if (c_.x.stride == 2) apart(std::integral_constant<std::int64_t, 2>{});  // a known stride is vectorised
    else apart(c_.x.stride);
  }

  Convolution c_;
  bool shares_;
  std::int64_t copies_, rows_, row_, plane_;  ///< of each channel; that lie together; elements of one, and of a copy
  T* memory_;
};

}  // namespace gradual::cpu
