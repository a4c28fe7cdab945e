#pragma once
#include <gradual/core/cpu/matmul.hpp>
#include <gradual/core/cpu/narrow_contraction.hpp>
#include <gradual/core/cpu/window_part.hpp>

namespace gradual::cpu {

/// The form of Σ over positions s of a[s]ᵀ·g[s]: i×j outputs, p positions in each sample.
struct BatchContractionForm {
  std::int64_t i, j, p;

  /// Treats one column of outputs as one row: vectors then run along the wide side. The operands change places.
  constexpr BatchContractionForm turned() const { return {1, i, p}; }
  constexpr NarrowContraction narrow() const { return {i, j, p}; }

  /// Whether g is packed, as elements of 16 bits, which become floats, always are. E: the type of the elements summed.
  template <class E>
  constexpr bool packs_g() const {
    return is_small_float<E> || packs<E>(canonical_block, j);
  }
  /// Whether rows of a are copied together: those that lie far apart, if several panels read them.
  template <class E>
  constexpr bool packs_a() const {
    return is_small_float<E> || (i * static_cast<std::int64_t>(sizeof(E)) >= 2048 && j > 3 * panel_columns<Computed<E>>);
  }
  /// Whether sizes are so small that code for just these pays.
  template <class E>
  constexpr bool small() const {
    using T = Computed<E>;
    return !is_small_float<E> && i <= 16 && j > 1 && j <= panel_columns<T> && j <= 16;
  }
  /// Returns the elements of workspace, in the type in which E is computed, that each thread needs.
  template <class E>
  constexpr std::int64_t workspace() const {
    if (j == 1 && i > 1) return turned().template workspace<E>();
    if (narrow().template pays<E>()) return NarrowContraction::workspace<Computed<E>>(j);
    return (packs_g<E>() ? panel_elements<Computed<E>> : 0) + (packs_a<E>() ? chunk_elements<E> : 0);
  }
};

namespace detail {

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
  const std::int64_t most = pack_a ? chunk_rows<E> : last_row - first_row;
  TileTask<T, W> tile{};
  tile.row = form.j;
  tile.grouped = pack_a;
  tile.a_row = 1;
  tile.a_step = pack_a ? tile_rows : form.i;
  tile.b_step = form.j;
  tile.far = form.i * form.j * static_cast<std::int64_t>(sizeof(T)) > 512 * 1024;
  tile.first = window.first;
  for (const BlockPiece& piece : window.blocks(form.p)) {
    tile.k = piece.count();
    tile.resumes = !piece.begins;
    tile.closes = piece.closes;
    const std::int64_t from = piece.begin - window.begin;
    const E *a_rows = a + from * form.i, *g_rows = g + from * form.j;
    for (std::int64_t begin = first_row; begin < last_row; begin += most) {
      const std::int64_t rows = last_row - begin < most ? last_row - begin : most;
      if (pack_a) {
        for_groups(rows, tile.k, chunk, [&](std::int64_t i, std::int64_t count, T* to) {
          pack_rows(a_rows + begin + i, form.i, tile.k, count, to, tile_rows);
        });
        tile.a = chunk;
      } else if constexpr (!is_small_float<E>) {  // small floats are always packed
        tile.a = a_rows + begin;
      }
      for (std::int64_t j = first_column; j < last_column; j += panel_columns<T>) {
        tile.columns = last_column - j < panel_columns<T> ? last_column - j : panel_columns<T>;
        tile.total = window.total + begin * form.j + j;
        tile.open = past(window.open, begin * form.j + j);
        if (pack_g) {
          run_packed_panel(tile, rows, g_rows + j, form.j, panel);
        } else if constexpr (!is_small_float<E>) {
          tile.b = g_rows + j;
          run_panel<Tiles>(tile, rows);
        }
      }
    }
    tile.first = tile.first && !tile.closes;
  }
  if (tile.first && window.count > 0)
    for (std::int64_t i = first_row; i < last_row; ++i)
      for (std::int64_t j = first_column; j < last_column; ++j) window.total[i * form.j + j] = W{};
}

/// One copy of the code for all sizes.
template <class E, class T, class W>
[[gnu::noinline]] void wide_contraction(const BatchContractionForm& form, const E* a, const E* g,
                                        const WindowPart<T, W>& window, T* workspace, Part part) {
  batch_contraction<SharedTiles>(form, a, g, window, workspace, part);
}

}  // namespace detail

/// total[i×j] += Σ over positions s of a[s]ᵀ·g[s], in canonical order: a is count×i, g is count×j, row-major. However a window
/// is cut into parts, the bits are the same. Computes one part of the outputs: columns if there are enough, else rows.
template <class E, class T, class W = T>
GRADUAL_KERNEL_CODE
void batch_contraction(const BatchContractionForm& form, const E* a, const E* g, const WindowPart<T, W>& window, T* workspace,
                       Part part = {}) {
  if constexpr (!is_small_float<E>)
    if (form.narrow().template pays<E>()) return form.narrow().run(a, g, window, workspace, part);
  detail::wide_contraction(form, a, g, window, workspace, part);
}

/// Does the same for sizes known to the compiler.
template <class E, std::int64_t I, std::int64_t J, std::int64_t P, class T, class W>
GRADUAL_KERNEL_CODE
void batch_contraction(const E* a, const E* g, const WindowPart<T, W>& window, T* workspace, Part part = {}) {
  constexpr BatchContractionForm form{I, J, P};
  if constexpr (form.template small<E>()) detail::batch_contraction<InlineTiles<J>>(form, a, g, window, workspace, part);
  else if constexpr (J == 1 && form.turned().template small<E>())
    detail::batch_contraction<InlineTiles<I>>(form, a, g, window, workspace, part);
  else if constexpr (form.narrow().template pays<E>()) form.narrow().run(a, g, window, workspace, part);
  else detail::wide_contraction(form, a, g, window, workspace, part);
}

}  // namespace gradual::cpu
