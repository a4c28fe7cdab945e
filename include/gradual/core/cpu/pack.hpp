#pragma once
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/tile.hpp>
#include <gradual/core/cpu/transpose.hpp>

namespace gradual::cpu {

/// Columns of a packed panel: two vectors.
template <class T>
inline constexpr std::int64_t panel_columns = 2 * Vec<T>::width;
/// Elements of the workspace that a product may need: one panel of one block.
template <class T>
inline constexpr std::int64_t panel_elements = canonical_block * panel_columns<T>;

/// Whether rows `stride` elements apart share so few sets of the first-level cache that even one tile's rows evict each other.
template <class T>
constexpr bool aliases(std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(T));
  return bytes >= 2048 && bytes % 1024 == 0;
}

/// panel[l][j] = b[l][j] for k rows of `columns` columns, to rows `to_row` apart. Elements of 16 bits become floats.
template <class T>
void pack_rows(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel,
               std::int64_t to_row = panel_columns<T>) {
  const auto copy = [&](auto count) __attribute__((always_inline)) {
    for (std::int64_t l = 0; l < k; ++l) copy_row<T>(b + l * b_row, count, panel + l * to_row);
  };
  if (columns == panel_columns<T>) copy(std::integral_constant<std::int64_t, panel_columns<T>>{});
  else if (columns == tile_rows) copy(std::integral_constant<std::int64_t, tile_rows>{});  // those of a group
  else copy(columns);
}

template <class E>
  requires is_small_float<E>
void pack_rows(const E* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, float* panel,
               std::int64_t to_row = panel_columns<float>) {
  for (std::int64_t l = 0; l < k; ++l) copy_row(b + l * b_row, columns, panel + l * to_row);
}

/// Runs the tiles of a panel of t.columns columns of B, which the first tile packs in passing. The panel is packed beforehand
/// if that tile is not full or is the only one, or if it would wait for each row: where rows alias and take two cache lines
/// each.
template <class T, class W, class E>
GRADUAL_INLINE void run_packed_panel(TileTask<T, W> t, std::int64_t rows, const E* b, std::int64_t b_row, T* panel) {
  constexpr bool one_line = panel_columns<T> * sizeof(T) <= 64;
  bool in_passing = false;
  if constexpr (std::is_same_v<E, T>) {
    in_passing = t.columns == panel_columns<T> && rows >= 2 * tile_rows && t.tallest() >= tile_rows &&
                 (one_line || !aliases<T>(b_row));
    t.b = b;
    t.b_step = b_row;
    t.packed = panel;
  }
  if (!in_passing) {
    pack_rows(b, b_row, t.k, t.columns, panel);
    t.b = panel;
    t.b_step = panel_columns<T>;
    t.packed = nullptr;
  }
  run_panel<SharedTiles>(t, rows, Upcoming<E>{b + t.columns, t.k, b_row});
}

/// Writes the transpose of `rows` rows of `steps` columns at b, rows b_row apart, to rows to_row apart, of which it may write
/// `room` elements. Known: the number of rows if known at compile time, with as many columns as a register has lanes; else 0.
template <int Known, class T>
GRADUAL_INLINE void pack_square(const T* b, std::int64_t b_row, T* to, std::int64_t to_row, std::int64_t steps,
                                std::int64_t rows, std::int64_t room) {
  constexpr int width = Vec<T>::width;
  Vec<T> r[width];
  GRADUAL_UNROLL(16)
  for (int i = 0; i < width; ++i) {
    asm("" : "+r"(b));  // else all rows' addresses would be computed at once and not fit in registers
    r[i] = Known > 0 ? Vec<T>::load(b) : Vec<T>::load(b, steps);
    if (i + 1 < rows) b += b_row;  // else the last row is read again, into lanes that nobody reads
  }
  transpose(r);
  GRADUAL_UNROLL(16)
  for (int l = 0; l < width; ++l, to += to_row) {
    asm("" : "+r"(to));
    if constexpr (Known == width) r[l].store(to);
    else if constexpr (Known > 0) __builtin_memcpy(to, &r[l], Known * sizeof(T));
    else if (l < steps) room < width ? r[l].store(to, rows) : r[l].store(to);
  }
}

/// panel[l][j] = b[j][l]: the same from a matrix stored transposed. After its columns, a row may get other numbers.
template <class T>
void pack_columns(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel,
                  std::int64_t to_row = panel_columns<T>) {
  constexpr std::int64_t width = Vec<T>::width;
  constexpr int rest_of_group = tile_rows % width;
  for (std::int64_t j = 0; j < columns; j += width)
    for (std::int64_t l = 0; l < k; l += width) {
      const std::int64_t rows = columns - j, steps = k - l;
      const T* const from = b + j * b_row + l;
      T* const to = panel + l * to_row + j;
      if (rows >= width && steps >= width) pack_square<width>(from, b_row, to, to_row, width, width, width);
      else if (rows == rest_of_group && steps >= width) pack_square<rest_of_group>(from, b_row, to, to_row, width, rows, rows);
      else
        pack_square<0>(from, b_row, to, to_row, steps < width ? steps : width, rows < width ? rows : width, to_row - j);
    }
}
template <class E>
  requires is_small_float<E>
void pack_columns(const E* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, float* panel,
                  std::int64_t to_row = panel_columns<float>) {
  for (std::int64_t l = 0; l < k; ++l)
    for (std::int64_t j = 0; j < columns; ++j) panel[l * to_row + j] = static_cast<float>(b[j * b_row + l]);
}

/// Rows of A that are packed at once, whole tiles; fewer for 16 bits, since all of A becomes floats there.
template <class E>
inline constexpr std::int64_t chunk_rows = is_small_float<E> ? 2 * tile_rows : 264;
static_assert(chunk_rows<float> % tile_rows == 0);
/// The elements that a block of them takes.
template <class E>
inline constexpr std::int64_t chunk_elements = chunk_rows<E> * canonical_block;

/// Calls pack(first row, rows, where they go) for each group of `tile_rows` rows, which a tile reads from front to back.
template <class T, class F>
GRADUAL_INLINE void for_groups(std::int64_t end, std::int64_t k, T* chunk, F pack) {
  for (std::int64_t i = 0; i < end; i += tile_rows) pack(i, end - i < tile_rows ? end - i : tile_rows, chunk + i * k);
}

}  // namespace gradual::cpu
