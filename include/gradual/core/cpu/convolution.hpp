#pragma once
#include <algorithm>

#include <gradual/core/convolution.hpp>
#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// One image as a convolution reads it: for each channel and each column of the kernel, the rows that outputs meet, one
/// under the other, zeros included. So positions lie one after another under every tap, without a gap between rows.
template <class T>
class ShiftedImage {
 public:
  static constexpr std::int64_t elements(const Convolution& c) { return c.channels * c.x.kernel * plane(c); }

  /// `memory` has room for `elements`.
  ShiftedImage(const Convolution& c, T* memory) : c_(c), plane_(plane(c)), memory_(memory) {
    std::fill(memory, memory + elements(c), T(0));
  }

  const T* data() const { return memory_; }

  /// Where the first position's element is under a tap.
  std::int64_t offset(std::int64_t tap) const {
    const std::int64_t column = tap % c_.x.kernel, row = tap / c_.x.kernel % c_.y.kernel;
    return (tap / (c_.x.kernel * c_.y.kernel) * c_.x.kernel + column) * plane_ + row_offset(row * c_.y.dilation);
  }

  /// Takes an image [channels, y.in, x.in]; what was zero stays zero.
  void load(const T* image) {
    const std::int64_t rows = (c_.y.out - 1) * c_.y.stride + c_.y.reach() + 1;
    for (std::int64_t in = 0; in < c_.y.in; ++in) {
      const std::int64_t row = in * c_.y.spread + c_.y.before;
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
    if (x.stride == 1 && x.spread == 1) {
      const std::int64_t first = shift < 0 ? -shift : 0, last = x.in - shift < x.out ? x.in - shift : x.out;
      if (first < last) copy_row(from + first + shift, last - first, to + first);
    } else if (x.spread == 1) {
      for (std::int64_t o = shift < 0 ? (-shift + x.stride - 1) / x.stride : 0; o < x.out && o * x.stride + shift < x.in; ++o)
        to[o] = from[o * x.stride + shift];
    } else if (x.stride == 1) {
      for (std::int64_t in = shift > 0 ? (shift + x.spread - 1) / x.spread : 0; in < x.in && in * x.spread - shift < x.out;
           ++in)
        to[in * x.spread - shift] = from[in];
    } else {
      for (std::int64_t o = 0; o < x.out; ++o)
        if (const std::int64_t in = x.at(o, column); in >= 0) to[o] = from[in];
    }
  }

  Convolution c_;
  std::int64_t plane_;
  T* memory_;
};

/// Workspace of a convolution, one part after another.
template <class T>
struct ConvolutionSpace {
  static constexpr std::int64_t rounded(std::int64_t n) { return (n + 15) / 16 * 16; }
  static constexpr std::int64_t offset_elements(const Convolution& c) {
    return rounded(c.taps() * static_cast<std::int64_t>(sizeof(std::int64_t) / sizeof(T)));
  }

  /// Elements that `convolution` needs.
  static constexpr std::int64_t forward(const Convolution& c) {
    return offset_elements(c) + (c.flipped ? rounded(c.groups * c.weights()) : 0) + ShiftedImage<T>::elements(c);
  }
  /// Elements that sums of blocks take, and those that `batch_convolution` needs. W: what these sums are held in.
  template <class W>
  static constexpr std::int64_t sums(const Convolution& c) {
    return rounded(c.weights()) * static_cast<std::int64_t>(sizeof(W) / sizeof(T));
  }
  template <class W = T>
  static constexpr std::int64_t backward(const Convolution& c) {
    return sums<W>(c) + rounded(c.weights()) + tap_rows * tap_stride + panels(c) * panel_elements<T> +
           ShiftedImage<T>::elements(c);
  }

  static constexpr std::int64_t tap_rows = 24, tap_stride = canonical_block + 16;  ///< taps that are copied together
  static constexpr std::int64_t panels(const Convolution& c) { return (c.outputs + panel_columns<T> - 1) / panel_columns<T>; }
};

/// y[image, o, position] = Σ over taps, in canonical order, of weight · pixel. Computes one part of the groups of the images.
template <class T>
[[gnu::noinline]] void convolution(const Convolution& c, const T* x, const T* w, T* y, std::int64_t images, T* workspace,
                                   Part part = {}) {
  using Space = ConvolutionSpace<T>;
  const std::int64_t taps = c.taps(), positions = c.positions();
  const auto [first, last] = part.of(images * c.groups);
  auto* offsets = reinterpret_cast<std::int64_t*>(workspace);
  workspace += Space::offset_elements(c);
  if (c.flipped) {
    T* const straight = workspace;
    workspace += Space::rounded(c.groups * c.weights());
    for (std::int64_t group = 0; group < c.groups * c.weights(); group += c.weights())
      for (std::int64_t o = 0; o < c.outputs; ++o)
        for (std::int64_t tap = 0; tap < taps; ++tap) straight[group + o * taps + tap] = w[group + c.weight(o, tap)];
    w = straight;
  }
  ShiftedImage<T> image(c, workspace);
  for (std::int64_t tap = 0; tap < taps; ++tap) offsets[tap] = image.offset(tap);
  TileTask<T> tile{};
  tile.row = positions;
  tile.a_row = taps;
  tile.a_step = 1;
  for (std::int64_t i = first; i < last; ++i) {
    image.load(x + i * c.image());
    T* out = y + i * c.result();
    for (std::int64_t block = 0; block < taps; block += canonical_block) {
      tile.k = taps - block < canonical_block ? taps - block : canonical_block;
      tile.first = block == 0;
      tile.a = w + i % c.groups * c.weights() + block;
      tile.b_offset = offsets + block;
      for (std::int64_t j = 0; j < positions; j += panel_columns<T>) {
        tile.columns = positions - j < panel_columns<T> ? positions - j : panel_columns<T>;
        tile.total = out + j;
        tile.b = image.data() + j;
        run_panel<ScatteredTiles>(tile, c.outputs);
      }
    }
    for (std::int64_t o = 0; taps == 0 && o < c.result(); ++o) out[o] = T(0);
  }
}

namespace detail {

/// `batch_convolution` of one group, whose images and adjoints x and g begin with. Computes one part of the taps.
template <class T, class W>
void batch_convolution_of_group(const Convolution& c, std::int64_t images, const T* x, const T* g,
                                const WindowPart<T, W>& window, T* workspace, Part part) {
  using Space = ConvolutionSpace<T>;
  const std::int64_t taps = c.taps(), positions = c.positions(), p = images * positions;
  const auto [first_tap, last_tap] = part.of(taps, Space::tap_rows);
  if (first_tap == last_tap) return;
  // Sums are kept with outputs side by side while images pass by.
  W* const total = reinterpret_cast<W*>(workspace);
  T* const open = workspace + Space::template sums<W>(c);
  T* const rows = open + Space::rounded(c.weights());
  T* const panels = rows + Space::tap_rows * Space::tap_stride;
  ShiftedImage<T> image(c, panels + Space::panels(c) * panel_elements<T>);
  const bool resumes = block_begin(window.begin, p) != window.begin;
  for (std::int64_t tap = first_tap; tap < last_tap; ++tap)
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      total[tap * c.outputs + o] = window.first ? W{} : window.total[o * taps + tap];
      if (resumes) open[tap * c.outputs + o] = window.open[o * taps + tap];
    }
  TileTask<T, W> tile{};
  tile.row = c.outputs;
  tile.a = rows;
  tile.a_row = Space::tap_stride;
  tile.a_step = 1;
  tile.b_step = panel_columns<T>;
  tile.first = false;
  const std::int64_t end = window.begin + window.count;
  for (std::int64_t at = window.begin; at < end;) {
    const std::int64_t i = (at - window.begin) / positions, from = (at - window.begin) % positions;
    if (from == 0) image.load(x + i * c.groups * c.image());
    const std::int64_t block = block_end(at, p), image_end = at - from + positions,
                       stop = block < image_end ? block : image_end;
    tile.k = stop - at;
    tile.resumes = block_begin(at, p) != at;
    tile.closes = stop == block || (stop == end && window.last);
    for (std::int64_t o = 0; o < c.outputs; o += panel_columns<T>) {
      const std::int64_t columns = c.outputs - o < panel_columns<T> ? c.outputs - o : panel_columns<T>;
      pack_columns(g + i * c.groups * c.result() + o * positions + from, positions, tile.k, columns,
                   panels + o / panel_columns<T> * panel_elements<T>);
    }
    for (std::int64_t tap = first_tap; tap < last_tap; tap += Space::tap_rows) {
      const std::int64_t count = last_tap - tap < Space::tap_rows ? last_tap - tap : Space::tap_rows;
      for (std::int64_t r = 0; r < count; ++r)
        copy_row(image.data() + image.offset(tap + r) + from, tile.k, rows + r * Space::tap_stride);
      for (std::int64_t o = 0; o < c.outputs; o += panel_columns<T>) {
        tile.columns = c.outputs - o < panel_columns<T> ? c.outputs - o : panel_columns<T>;
        tile.b = panels + o / panel_columns<T> * panel_elements<T>;
        tile.total = total + tap * c.outputs + o;
        tile.open = open + tap * c.outputs + o;
        run_panel<SharedTiles>(tile, count);
      }
    }
    at = stop;
  }
  const bool unfinished = block_begin(end, p) != end && !window.last;
  for (std::int64_t tap = first_tap; tap < last_tap; ++tap)
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      window.total[o * taps + tap] = total[tap * c.outputs + o];
      if (unfinished) window.open[o * taps + tap] = open[tap * c.outputs + o];
    }
}

}  // namespace detail

/// total[group, o, tap] += Σ over positions of the window's images of pixel · g, in canonical order, where a sample has
/// `images` images. However a window is cut into parts, the bits are the same. Computes one part of the groups or, where
/// there is one, of the taps.
template <class T, class W = T>
[[gnu::noinline]] void batch_convolution(const Convolution& c, std::int64_t images, const T* x, const T* g,
                                         const WindowPart<T, W>& window, T* workspace, Part part = {}) {
  if (window.count == 0) return;
  const auto [first, last] = c.groups == 1 ? Part::Range{0, 1} : part.of(c.groups);
  for (std::int64_t group = first; group < last; ++group) {
    WindowPart<T, W> sums = window;
    sums.total += group * c.weights();
    if (sums.open != nullptr) sums.open += group * c.weights();
    detail::batch_convolution_of_group(c, images, x + group * c.image(), g + group * c.result(), sums, workspace,
                                       c.groups == 1 ? part : Part{});
  }
}

}  // namespace gradual::cpu
