#pragma once
#include <utility>

#include <gradual/core/cpu/narrow_contraction.hpp>

namespace gradual::cpu {

/// Whether a block of `rows` rows `stride` elements apart is copied together before it is read repeatedly: rows far apart share
/// few sets of the first-level cache.
template <class T>
constexpr bool packs(std::int64_t rows, std::int64_t stride) {
  return stride * static_cast<std::int64_t>(sizeof(T)) >= 512 && rows > 64;
}

/// The form of C = op(A)·op(B): C has n columns, chains have k steps.
struct MatmulForm {
  std::int64_t n, k;
  bool trans_a = false, trans_b = false;
  std::int64_t a_row = 0;  ///< of a transposed A: elements from one step to the next, as many as C has rows

  template <class T>
  constexpr bool packs_b() const {
    return trans_b || packs<T>(k, n);
  }
  template <class T>
  constexpr bool packs_a() const {
    return aliases<T>(trans_a ? a_row : k) && n > panel_columns<T>;
  }
  /// Whether sizes are so small that code for just these pays.
  template <class T>
  constexpr bool small() const {
    return n > 1 && n <= panel_columns<T> && n <= 16 && k <= 16;
  }
  /// Whether C is one column of chains so short that the way through panels of any size takes longer than the chains.
  constexpr bool short_column() const { return n == 1 && k <= 16 && !trans_a; }

  /// Treats one column of m outputs as one row: vectors then run along the wide side. The operands change places.
  constexpr MatmulForm turned(std::int64_t m) const { return {m, k, false, !trans_a}; }

  /// Whether few columns of Aᵀ·op(B) may be computed as a sum over steps: vectors then run along A's rows, which are long.
  template <class T>
  constexpr bool may_be_narrow() const {
    return trans_a && k > 0 && NarrowContraction::fits<T>(n);
  }

  /// Returns the elements of workspace that each thread needs.
  template <class T>
  constexpr std::int64_t workspace() const {
    const std::int64_t narrow = may_be_narrow<T>() ? NarrowContraction::workspace<T>(n) : 0;
    const std::int64_t other = (packs_b<T>() || n == 1 ? (k < canonical_block ? k : canonical_block) * panel_columns<T> : 0) +
                               (packs_a<T>() ? chunk_elements<T> : 0);
    return narrow < other ? other : narrow;  // enough for any number of rows
  }
};

namespace detail {

/// Computes chains of one step: the products of a's rows with b's columns, each added to +0 twice, to rows of outputs n apart.
template <class T>
void outer_product(const T* a, std::int64_t rows, const T* b, std::int64_t columns, T* c, std::int64_t n) {
  constexpr std::int64_t width = Vec<T>::width, four = 4 * width;
  const Vec<T> zero = Vec<T>::zero();
  for (; columns >= four; columns -= four, b += four, c += four) {
    Vec<T> row[4];
    for (int v = 0; v < 4; ++v) row[v] = Vec<T>::load(b + v * width);
    for (std::int64_t i = 0; i < rows; ++i)
      for (int v = 0; v < 4; ++v) (zero + fma(Vec<T>::broadcast(a[i]), row[v], zero)).store(c + i * n + v * width);
  }
  for (std::int64_t i = 0; columns > 0 && i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += width) {
      const std::int64_t count = columns - j < width ? columns - j : width;
      (zero + fma(Vec<T>::broadcast(a[i]), Vec<T>::load(b + j, count), zero)).store(c + i * n + j, count);
    }
}

template <class Tiles, class T>
GRADUAL_INLINE void matmul(MatmulForm form, const T* a, const T* b, T* c, std::int64_t m, T* workspace,
                           Part part) {
  if (form.n == 1 && m > 1) {
    form = form.turned(m);
    std::swap(a, b);
    m = 1;
  }
  if (form.k == 1) form.trans_b = false;  // one step has the same layout either way
  const std::int64_t n = form.n, depth = form.k;
  const bool pack_a = form.packs_a<T>() && m > 1, by_panels = n >= 2 * part.count * panel_columns<T>;
  const bool pack_b = form.packs_b<T>() && (form.trans_b || m > 4);  // few rows read B only once or twice
  const auto [first_row, last_row] = by_panels ? Part::Range{0, m} : part.of(m, tile_rows);
  const auto [first_column, last_column] = by_panels ? part.of(n, panel_columns<T>) : Part::Range{0, n};
  if (depth == 0)
    for (std::int64_t i = first_row; i < last_row; ++i)
      for (std::int64_t j = first_column; j < last_column; ++j) c[i * n + j] = T(0);
  if (Tiles::columns == 0 && depth == 1)
    return outer_product(a + first_row, last_row - first_row, b + first_column, last_column - first_column,
                         c + first_row * n + first_column, n);
  T* const panel = workspace;
  T* const chunk = workspace + (pack_b ? (depth < canonical_block ? depth : canonical_block) * panel_columns<T> : 0);
  const std::int64_t most = pack_a ? chunk_rows<T> : last_row - first_row;
  TileTask<T> tile{};
  tile.row = n;
  tile.far = m * n * static_cast<std::int64_t>(sizeof(T)) > 512 * 1024;
  tile.grouped = pack_a;
  tile.aliased = !pack_a && !form.trans_a && aliases<T>(depth);
  tile.a_row = pack_a || form.trans_a ? 1 : depth;
  tile.a_step = pack_a ? tile_rows : form.trans_a ? m : 1;
  tile.b_step = form.trans_b ? panel_columns<T> : n;
  for (std::int64_t begin = first_row; begin < last_row; begin += most) {
    const std::int64_t rows = last_row - begin < most ? last_row - begin : most;
    for (std::int64_t block = 0; block < depth; block += canonical_block) {
      tile.k = depth - block < canonical_block ? depth - block : canonical_block;
      tile.first = block == 0;
      tile.a = form.trans_a ? a + block * m + begin : a + begin * depth + block;
      if (pack_a) {
        for_groups(rows, tile.k, chunk, [&](std::int64_t i, std::int64_t count, T* to) {
          if (form.trans_a) pack_rows(tile.a + i, m, tile.k, count, to, tile_rows);
          else pack_columns(tile.a + i * depth, depth, tile.k, count, to, tile_rows);
        });
        tile.a = chunk;
      }
      for (std::int64_t j = first_column; j < last_column; j += tile.columns) {
        const std::int64_t left = last_column - j;
        const std::int64_t widest =
            Tiles::columns == 0 && !pack_b ? wide_vectors<T>(m, left) * Vec<T>::width : panel_columns<T>;
        tile.columns = left < widest ? left : widest;
        tile.total = c + begin * n + j;
        if (pack_b && !form.trans_b) {
          run_packed_panel(tile, rows, b + block * n + j, n, panel);
          continue;
        }
        if (form.trans_b) pack_columns(b + j * depth + block, depth, tile.k, tile.columns, panel);
        tile.b = form.trans_b ? panel : b + block * n + j;
        if constexpr (Tiles::columns == 0)
          if (tile.columns > panel_columns<T>) {
            run_wide<Tiles>(tile, rows);
            continue;
          }
        run_panel<Tiles>(tile, rows);
      }
    }
  }
}

/// Computes one column of chains of K steps as a turned product: the rows of A go into a panel, and vectors run along them.
template <std::int64_t K, class T>
GRADUAL_INLINE void short_column(const T* a, const T* b, T* c, std::int64_t m, T* panel, Part part) {
  constexpr std::int64_t width = panel_columns<T>;
  const auto [first, last] = part.of(m, width);
  TileTask<T> tile{};
  tile.a = b;
  tile.a_step = 1;
  tile.b = panel;
  tile.b_step = width;
  tile.k = K;
  for (std::int64_t i = first; i < last; i += width) {
    tile.columns = last - i < width ? last - i : width;
    tile.total = c + i;
    pack_columns(a + i * K, K, K, tile.columns, panel);
    cover_panel<InlineTiles<0>>(tile, 1, Upcoming<T>{});
  }
}

}  // namespace detail

/// C[m×n] = op(A)·op(B) in canonical order, all row-major: A is m×k (k×m if trans_a), B is k×n (n×k if trans_b). Computes one
/// part of C: panels of columns if there are enough, else rows.
template <class T>
GRADUAL_KERNEL_CODE
void matmul(const MatmulForm& form, const T* a, const T* b, T* c, std::int64_t m, T* workspace, Part part = {}) {
  if (const NarrowContraction narrow{m, form.n, 1, form.trans_b ? form.k : 0}; form.may_be_narrow<T>() && narrow.pays<T>())
    return narrow.run(a, b, WindowPart<T>{c, nullptr, 0, form.k, true, true}, workspace, part);
  detail::matmul<SharedTiles>(form, a, b, c, m, workspace, part);
}

/// Does the same for sizes known to the compiler.
template <class T, bool TransA, bool TransB, std::int64_t N, std::int64_t K>
GRADUAL_KERNEL_CODE
void matmul(const T* a, const T* b, T* c, std::int64_t m, T* workspace, Part part = {}) {
  constexpr MatmulForm form{N, K, TransA, TransB};
  if constexpr (form.template small<T>()) detail::matmul<InlineTiles<N>>(form, a, b, c, m, workspace, part);
  else if constexpr (form.short_column()) detail::short_column<K>(a, b, c, m, workspace, part);
  else matmul(MatmulForm{N, K, TransA, TransB, TransA ? m : 0}, a, b, c, m, workspace, part);
}

}  // namespace gradual::cpu
