#pragma once
#include <gradual/core/cpu/matmul.hpp>

namespace gradual::cpu {

/// What one micro-batch adds to a contraction over the positions of a window. W: what sums of blocks are held in.
template <class T, class W = T>
struct WindowPart {
  W* total;            ///< sums of closed blocks
  T* open;             ///< the chain of the unfinished block; may be null where parts begin and end on blocks
  std::int64_t begin;  ///< first position, counted from the window's beginning
  std::int64_t count;  ///< positions
  bool first, last;    ///< whether the window begins and ends here: totals start from +0; the open block closes
};

/// Columns of A that are copied together where its rows alias, or become floats.
template <class E>
inline constexpr std::int64_t chunk_columns = is_small_float<E> ? 2 * 12 : 8 * 12;

/// The form of Σ over positions s of a[s]ᵀ·g[s]: i×j outputs, p positions in each sample.
struct BatchContractionForm {
  std::int64_t i, j, p;

  /// One column of outputs, seen as one row: vectors then go along the wide side. The operands change places.
  constexpr BatchContractionForm turned() const { return {1, i, p}; }

  /// E: the type of what is summed. What has 16 bits becomes floats where it is packed.
  template <class E>
  constexpr bool packs_g() const {
    return is_small_float<E> || packs<E>(canonical_block, j);
  }
  template <class E>
  constexpr bool packs_a() const {
    return is_small_float<E> || aliases<E>(i);
  }
  /// So small that code for just these sizes pays.
  template <class E>
  constexpr bool small() const {
    using T = Computed<E>;
    return !is_small_float<E> && i <= 16 && j > 1 && j <= panel_columns<T> && j <= 16;
  }
  /// Elements of workspace, of what E is computed in, that each thread needs.
  template <class E>
  constexpr std::int64_t workspace() const {
    if (j == 1 && i > 1) return turned().template workspace<E>();
    return (packs_g<E>() ? panel_elements<Computed<E>> : 0) + (packs_a<E>() ? canonical_block * chunk_columns<E> : 0);
  }
};

namespace detail {

/// Where a tile reads: what was packed or, where nothing was, the elements themselves.
template <class E>
GRADUAL_INLINE const Computed<E>* in_place(const E* elements, const Computed<E>* packed) {
  if constexpr (is_small_float<E>) return packed;
  else return packed != nullptr ? packed : elements;
}

template <class Tiles, class E, class T, class W>
GRADUAL_INLINE void batch_contraction(BatchContractionForm form, const E* a, const E* g, const WindowPart<T, W>& window,
                                      T* workspace, Part part) {
  if (form.j == 1 && form.i > 1) {
    form = form.turned();
    std::swap(a, g);
  }
  const bool pack_a = form.packs_a<E>(), pack_g = form.packs_g<E>();
  const bool by_panels = form.j >= 2 * part.count * panel_columns<T>;
  const auto [first_row, last_row] = by_panels ? Part::Range{0, form.i} : part.of(form.i, tile_rows);
  const auto [first_column, last_column] = by_panels ? part.of(form.j, panel_columns<T>) : Part::Range{0, form.j};
  T* const panel = workspace;
  T* const chunk = workspace + (pack_g ? panel_elements<T> : 0);
  const std::int64_t most = pack_a ? chunk_columns<E> : last_row - first_row;
  const std::int64_t end = window.begin + window.count;
  TileTask<T, W> tile{};
  tile.row = form.j;
  tile.a_row = 1;
  tile.a_step = pack_a ? most : form.i;
  tile.b_step = pack_g ? panel_columns<T> : form.j;
  tile.first = window.first;
  tile.prefetches = form.i * form.j * static_cast<std::int64_t>(sizeof(T)) > 512 * 1024;
  for (std::int64_t at = window.begin; at < end;) {
    const std::int64_t block = block_end(at, form.p), stop = block < end ? block : end;
    tile.k = stop - at;
    tile.resumes = block_begin(at, form.p) != at;
    tile.closes = stop == block || window.last;
    const E *a_rows = a + (at - window.begin) * form.i, *g_rows = g + (at - window.begin) * form.j;
    for (std::int64_t begin = first_row; begin < last_row; begin += most) {
      const std::int64_t rows = last_row - begin < most ? last_row - begin : most;
      if (pack_a)
        for (std::int64_t l = 0; l < tile.k; ++l)
          for (std::int64_t i = 0; i < rows; ++i) chunk[l * most + i] = static_cast<T>(a_rows[l * form.i + begin + i]);
      tile.a = in_place(a_rows + begin, pack_a ? chunk : nullptr);
      for (std::int64_t j = first_column; j < last_column; j += panel_columns<T>) {
        tile.columns = last_column - j < panel_columns<T> ? last_column - j : panel_columns<T>;
        if (pack_g) pack_rows(g_rows + j, form.j, tile.k, tile.columns, panel);
        tile.b = in_place(g_rows + j, pack_g ? panel : nullptr);
        tile.total = window.total + begin * form.j + j;
        tile.open = window.open + begin * form.j + j;
        run_panel<Tiles>(tile, rows);
      }
    }
    tile.first = tile.first && !tile.closes;
    at = stop;
  }
  if (tile.first && window.count > 0)
    for (std::int64_t i = first_row; i < last_row; ++i)
      for (std::int64_t j = first_column; j < last_column; ++j) window.total[i * form.j + j] = W{};
}

}  // namespace detail

/// total[i×j] += Σ over positions s of a[s]ᵀ·g[s], in canonical order: a is count×i, g is count×j, row-major. However a
/// window is cut into parts, the bits are the same. Computes one part of the outputs: columns where there are enough,
/// else rows.
template <class E, class T, class W = T>
void batch_contraction(const BatchContractionForm& form, const E* a, const E* g, const WindowPart<T, W>& window, T* workspace,
                       Part part = {}) {
  detail::batch_contraction<SharedTiles>(form, a, g, window, workspace, part);
}

/// The same for sizes known to the compiler.
template <class E, std::int64_t I, std::int64_t J, std::int64_t P, class T, class W>
void batch_contraction(const E* a, const E* g, const WindowPart<T, W>& window, T* workspace, Part part = {}) {
  constexpr BatchContractionForm form{I, J, P};
  if constexpr (form.template small<E>()) detail::batch_contraction<InlineTiles<J>>(form, a, g, window, workspace, part);
  else batch_contraction(form, a, g, window, workspace, part);
}

}  // namespace gradual::cpu
