#pragma once
#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/shifted_image.hpp>

namespace gradual::cpu {

/// Workspace of `batch_convolution`, one part after another.
template <class T>
struct BatchConvolutionSpace {
  /// Returns the elements that sums of blocks take; `elements` returns all that are needed. W: the type that holds sums.
  template <class W>
  static constexpr std::int64_t sums(const Convolution& c) {
    return whole_vectors(c.weights()) * static_cast<std::int64_t>(sizeof(W) / sizeof(T));
  }
  template <class W = T>
  static constexpr std::int64_t elements(const Convolution& c) {
    return sums<W>(c) + whole_vectors(c.weights()) + copied(c) + ShiftedImage<T>::elements(image(c));
  }
  /// Returns how many of these taps and panels take.
  static constexpr std::int64_t copied(const Convolution& c) {
    return reads_taps(c) ? 0 : tap_rows * tap_stride + panels(c) * panel_elements<T>;
  }

  static constexpr std::int64_t tap_rows = 24, tap_stride = canonical_block + 16;  ///< taps that are copied together
  static constexpr std::int64_t panels(const Convolution& c) { return (c.outputs + panel_columns<T> - 1) / panel_columns<T>; }
  /// Whether taps are packed side by side: few outputs, as in depthwise layers, would leave half the lanes of a vector idle.
  static constexpr bool packs_taps(const Convolution& c) { return 2 * c.outputs <= Vec<T>::width && c.taps() > c.outputs; }
  static constexpr std::int64_t taps_together(const Convolution& c) {
    return packs_taps(c) && tap_rows > panel_columns<T> ? panel_columns<T> : tap_rows;
  }
  /// Whether nothing is packed: a long row of the kernel over one row of outputs meets elements that already lie side by side.
  static constexpr bool reads_taps(const Convolution& c) {
    return packs_taps(c) && c.y.out == 1 && c.x.dilation == 1 && c.x.kernel >= Vec<T>::width;
  }
  /// Returns the form in which images are copied: taps read in place need every element, also between outputs a stride apart.
  static constexpr Convolution image(Convolution c) {
    if (reads_taps(c)) c.x.out = (c.x.out - 1) * c.x.stride + 1, c.x.stride = 1;
    return c;
  }
};

namespace detail {

/// Does `batch_convolution` for one group; x and g point to its first image and adjoint. Computes one part of the taps.
template <class T, class W>
void batch_convolution_of_group(const Convolution& c, std::int64_t images, const T* x, const T* g,
                                const WindowPart<T, W>& window, T* workspace, Part part) {
  using Space = BatchConvolutionSpace<T>;
  const std::int64_t taps = c.taps(), positions = c.positions(), p = images * positions;
  // Whole tiles if there is one for each thread, else single taps.
  const auto [first_tap, last_tap] = part.of(taps, taps > part.count * tile_rows ? tile_rows : 1);
  if (first_tap == last_tap) return;
  // While images pass by, sums are kept with what is packed, taps or outputs, side by side.
  const bool packs_taps = Space::packs_taps(c), reads_taps = Space::reads_taps(c);
  const std::int64_t of_tap = packs_taps ? 1 : c.outputs, of_output = packs_taps ? taps : 1;
  W* const total = reinterpret_cast<W*>(workspace);
  T* const open = workspace + Space::template sums<W>(c);
  T* const rows = open + whole_vectors(c.weights());
  T* const panels = rows + Space::tap_rows * Space::tap_stride;
  const ShiftedImage<T> image(Space::image(c), rows + Space::copied(c));
  image.clear();
  const bool resumes = is_inside_block(window.begin, p);
  for (std::int64_t tap = first_tap; tap < last_tap; ++tap)
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      total[tap * of_tap + o * of_output] = window.first ? W{} : window.total[o * taps + tap];
      if (resumes) open[tap * of_tap + o * of_output] = window.open[o * taps + tap];
    }
  TileTask<T, W> tile{};
  tile.row = packs_taps ? of_output : of_tap;
  tile.a_row = packs_taps ? positions : Space::tap_stride;
  tile.a_step = 1;
  tile.b_step = reads_taps ? c.x.stride : panel_columns<T>;
  tile.first = false;
  const std::int64_t end = window.begin + window.count;
  for (std::int64_t at = window.begin; at < end;) {
    const std::int64_t i = (at - window.begin) / positions, from = (at - window.begin) % positions;
    if (from == 0) image.load(x + i * c.groups * c.image());
    const std::int64_t block = block_end(at, p), image_end = at - from + positions,
                       stop = block < image_end ? block : image_end;
    tile.k = stop - at;
    tile.resumes = is_inside_block(at, p);
    tile.closes = stop == block || (stop == end && window.last);
    const T* const adjoints = g + i * c.groups * c.result() + from;
    if (reads_taps) {
      tile.a = adjoints;
      for (std::int64_t tap = first_tap, row_end; tap < last_tap; tap = row_end) {
        row_end = std::min((tap / c.x.kernel + 1) * c.x.kernel, last_tap);
        tile.b = image.data() + typename ShiftedImage<T>::Tap(image, tap).offset() + from * c.x.stride;
        tile.total = total + tap;
        tile.open = open + tap;
        run_few_rows<SharedTiles>(tile, c.outputs, row_end - tap);
      }
      at = stop;
      continue;
    }
    for (std::int64_t o = 0; o < c.outputs && !packs_taps; o += panel_columns<T>) {
      const std::int64_t columns = c.outputs - o < panel_columns<T> ? c.outputs - o : panel_columns<T>;
      pack_columns(adjoints + o * positions, positions, tile.k, columns, panels + o / panel_columns<T> * panel_elements<T>);
    }
    typename ShiftedImage<T>::Tap place(image, first_tap);
    for (std::int64_t tap = first_tap; tap < last_tap; tap += Space::taps_together(c)) {
      const std::int64_t left = last_tap - tap, count = left < Space::taps_together(c) ? left : Space::taps_together(c);
      for (std::int64_t r = 0; r < count; ++r, ++place)
        copy_row(image.data() + place.offset() + from, tile.k, rows + r * Space::tap_stride);
      const auto run = [&](const T* a, std::int64_t a_rows, const T* panel, std::int64_t columns, std::int64_t o) {
        tile.a = a;
        tile.b = panel;
        tile.columns = columns;
        tile.total = total + tap * of_tap + o;
        tile.open = open + tap * of_tap + o;
        run_panel<SharedTiles>(tile, a_rows);
      };
      if (packs_taps) {
        pack_columns(rows, Space::tap_stride, tile.k, count, panels);
        run(adjoints, c.outputs, panels, count, 0);
      } else {
        for (std::int64_t o = 0; o < c.outputs; o += panel_columns<T>)
          run(rows, count, panels + o / panel_columns<T> * panel_elements<T>,
              c.outputs - o < panel_columns<T> ? c.outputs - o : panel_columns<T>, o);
      }
    }
    at = stop;
  }
  const bool unfinished = is_inside_block(end, p) && !window.last;
  for (std::int64_t tap = first_tap; tap < last_tap; ++tap)
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      window.total[o * taps + tap] = total[tap * of_tap + o * of_output];
      if (unfinished) window.open[o * taps + tap] = open[tap * of_tap + o * of_output];
    }
}

}  // namespace detail

/// total[group, o, tap] += Σ over positions of the window's images of pixel · g, in canonical order, with `images` images per
/// sample. However a window is cut into parts, the bits are the same. Computes one part of the groups or, if there is one
/// group, of the taps.
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
