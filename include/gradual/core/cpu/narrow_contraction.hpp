#pragma once
#include <gradual/core/cpu/pack.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/window_part.hpp>

namespace gradual::cpu {

/// Σ over positions s of a[s]ᵀ·g[s] where rows of g are shorter than a vector: vectors go along a, whose rows are long, and
/// each panel of outputs is transposed when its chains end.
struct NarrowContraction {
  std::int64_t i, j, p;          ///< i×j outputs, p positions in each sample
  std::int64_t g_transposed = 0;  ///< if g is stored transposed: elements from one row to the next

  /// Whether lanes along rows of g would be idle, and one tile has room for all columns of g.
  template <class E>
  static constexpr bool fits(std::int64_t j) {
    return !is_small_float<E> && j > 1 && j <= tile_rows && j < Vec<Computed<E>>::width;
  }
  /// Whether it fits and a has several panels.
  template <class E>
  constexpr bool pays() const {
    return fits<E>(j) && i >= 2 * panel_columns<Computed<E>>;
  }
  /// Returns the elements of workspace that each thread needs: rows of g, a panel's chains, and its outputs.
  template <class T>
  static constexpr std::int64_t workspace(std::int64_t j) {
    return (canonical_block + panel_columns<T>) * tile_rows + panel_columns<T> * j;
  }

  /// Adds a window's part to the sums. Computes one part of the columns of a.
  template <class T, class W>
  void run(const T* a, const T* g, const WindowPart<T, W>& window, T* workspace, Part part) const;

 private:
  /// Adds closed blocks to sums, or to +0 if they are the first.
  template <class T, class W>
  GRADUAL_INLINE static void add(W* sums, const T* blocks, std::int64_t count, bool first) {
    GRADUAL_IVDEP
    for (std::int64_t o = 0; o < count; ++o) {
      W sum = first ? W{} : sums[o];
      sum += blocks[o];
      sums[o] = sum;
    }
  }
};

// Outside the class: inside it would be inline and analysed in each source, although gradual::kernels has it.
template <class T, class W>
[[gnu::noinline]] void NarrowContraction::run(const T* a, const T* g, const WindowPart<T, W>& window, T* workspace,
                                              Part part) const {
  constexpr std::int64_t columns = panel_columns<T>;
  constexpr int ten = tile_rows > 10 && Vec<T>::width > 10 ? 10 : tile_rows;  // rows of g for which a lower tile pays
  const std::int64_t height = j <= 4 ? 4 : j <= 8 && tile_rows > 8 ? 8 : tile_rows;  // of one tile, with room for all of g
  const auto [first_column, last_column] = part.of(i, columns);
  T *const rows = workspace, *const chains = rows + canonical_block * tile_rows,
           *const outputs = chains + columns * tile_rows;
  const std::int64_t most = window.count < canonical_block ? window.count : canonical_block;
  for (std::int64_t l = 0; l < most * tile_rows; ++l) rows[l] = T(0);  // a tile has rows that no output needs
  TileTask<T> tile{};
  tile.a = rows;
  tile.a_row = 1;
  tile.a_step = tile_rows;
  tile.b_step = i;
  tile.row = columns;
  tile.open = tile.total = chains;
  tile.closes = false;
  bool first = window.first;
  for (const BlockPiece& piece : window.blocks(p)) {
    const std::int64_t from = piece.begin - window.begin;
    tile.k = piece.count();
    tile.resumes = !piece.begins;
    if (g_transposed > 0) pack_columns(g + from, g_transposed, tile.k, j, rows, tile_rows);
    else pack_rows(g + from * j, j, tile.k, j, rows, tile_rows);
    for (std::int64_t c = first_column; c < last_column; c += columns) {
      tile.columns = last_column - c < columns ? last_column - c : columns;
      tile.b = a + from * i + c;
      if (tile.resumes) pack_columns(window.open + c * j, j, j, tile.columns, chains, columns);
      if (tile.columns == columns && j > 8 && j <= ten) SharedTiles::run<T, ten, 2, false>(tile);
      else run_panel<SharedTiles>(tile, height);
      pack_columns(chains, columns, tile.columns, j, piece.closes ? outputs : window.open + c * j, j);
      if (piece.closes) add(window.total + c * j, outputs, tile.columns * j, first);
    }
    first = first && !piece.closes;
  }
  for (std::int64_t o = first_column * j; first && window.count > 0 && o < last_column * j; ++o) window.total[o] = W{};
}

}  // namespace gradual::cpu
