#pragma once
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/tile.hpp>

namespace gradual::cpu {

/// Columns of a packed panel: two vectors.
template <class T>
inline constexpr std::int64_t panel_columns = 2 * Vec<T>::width;
/// Elements of the workspace that a product may need: one panel of one block.
template <class T>
inline constexpr std::int64_t panel_elements = canonical_block * panel_columns<T>;

/// Whether rows `stride` elements apart share so few sets of the first-level cache that even one tile's rows push each other
/// out.
template <class T>
constexpr bool aliases(std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(T));
  return bytes >= 2048 && bytes % 1024 == 0;
}

/// panel[l][j] = b[l][j] for k rows of `columns` columns, to rows `to_row` apart. What has 16 bits becomes floats.
template <class T>
void pack_rows(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel,
               std::int64_t to_row = panel_columns<T>) {
  constexpr std::int64_t width = Vec<T>::width;
  for (std::int64_t j = 0; j < columns; j += 2 * width) {
    const std::int64_t left = columns - j, one = left < width ? left : width;
    const std::int64_t two = left < width ? 0 : left < 2 * width ? left - width : width;
    for (std::int64_t l = 0; l < k; ++l) {
      const T* const from = b + l * b_row + j;
      T* const to = panel + l * to_row + j;
      Vec<T>::load(from, one).store(to, one);
      Vec<T>::load(from + width, two).store(to + width, two);
    }
  }
}

template <class E>
  requires is_small_float<E>
void pack_rows(const E* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, float* panel,
               std::int64_t to_row = panel_columns<float>) {
  for (std::int64_t l = 0; l < k; ++l) copy_row(b + l * b_row, columns, panel + l * to_row);
}

/// Runs the tiles of a panel of t.columns columns of B, packed: by the first tile in passing, or before where that is not full
/// or would have to wait for each row.
template <class T, class W, class E>
GRADUAL_INLINE void run_packed_panel(TileTask<T, W> t, std::int64_t rows, const E* b, std::int64_t b_row, T* panel) {
  bool in_passing = false;
  if constexpr (std::is_same_v<E, T>) {
    in_passing = t.columns == panel_columns<T> && rows >= 2 * tile_rows && t.tallest() >= tile_rows && !aliases<T>(b_row);
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

#if defined(__AVX512F__)
/// Writes the transpose of `rows` ≤ 16 rows of `steps` ≤ 16 floats at b, rows b_row apart, to rows `to_row` apart.
/// All lanes are chosen by mask, since g++ 12 warns of the plain forms (GCC bug 105593).
GRADUAL_INLINE void transpose16(const float* b, std::int64_t b_row, float* to, std::int64_t to_row, std::int64_t steps,
                                std::int64_t rows) {
  const auto low = [](__m512 x, __m512 y) { return _mm512_maskz_unpacklo_ps(0xffff, x, y); };
  const auto high = [](__m512 x, __m512 y) { return _mm512_maskz_unpackhi_ps(0xffff, x, y); };
  const auto low_pair = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, _mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high_pair = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, _mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto even = [](__m512 x, __m512 y) { return _mm512_maskz_shuffle_f32x4(0xffff, x, y, 0x88); };
  const auto odd = [](__m512 x, __m512 y) { return _mm512_maskz_shuffle_f32x4(0xffff, x, y, 0xdd); };
  __m512 r[16], t[16];
  GRADUAL_UNROLL(16)
  for (int i = 0; i < 16; ++i) r[i] = i < rows ? Vec<float>::load(b + i * b_row, steps).v : _mm512_setzero_ps();
  GRADUAL_UNROLL(8)
  for (int i = 0; i < 16; i += 2) {
    t[i] = low(r[i], r[i + 1]);
    t[i + 1] = high(r[i], r[i + 1]);
  }
  GRADUAL_UNROLL(4)
  for (int i = 0; i < 16; i += 4) {
    r[i] = low_pair(t[i], t[i + 2]);
    r[i + 1] = high_pair(t[i], t[i + 2]);
    r[i + 2] = low_pair(t[i + 1], t[i + 3]);
    r[i + 3] = high_pair(t[i + 1], t[i + 3]);
  }
  // r[4g + c] holds, in its four quarters q, column 4q + c of rows 4g to 4g + 3.
  GRADUAL_UNROLL(4)
  for (int c = 0; c < 4; ++c) {
    const __m512 x = even(r[c], r[4 + c]), y = even(r[8 + c], r[12 + c]);
    const __m512 z = odd(r[c], r[4 + c]), w = odd(r[8 + c], r[12 + c]);
    const __m512 columns[] = {even(x, y), even(z, w), odd(x, y), odd(z, w)};
    GRADUAL_UNROLL(4)
    for (int q = 0; q < 4; ++q)
      if (4 * q + c < steps) Vec<float>{columns[q]}.store(to + (4 * q + c) * to_row, rows);
  }
}
#endif

/// panel[l][j] = b[j][l]: the same from a matrix that is stored transposed.
template <class T>
void pack_columns(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel,
                  std::int64_t to_row = panel_columns<T>) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    for (std::int64_t j = 0; j < columns; j += 16)
      for (std::int64_t l = 0; l < k; l += 16)
        transpose16(b + j * b_row + l, b_row, panel + l * to_row + j, to_row, k - l < 16 ? k - l : 16,
                    columns - j < 16 ? columns - j : 16);
  } else
#endif
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < columns; ++j) panel[l * to_row + j] = b[j * b_row + l];
}
template <class E>
  requires is_small_float<E>
void pack_columns(const E* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, float* panel,
                  std::int64_t to_row = panel_columns<float>) {
  for (std::int64_t l = 0; l < k; ++l)
    for (std::int64_t j = 0; j < columns; ++j) panel[l * to_row + j] = static_cast<float>(b[j * b_row + l]);
}

/// Rows of A that are packed at once; of 16 bits fewer, since all of A becomes floats there.
template <class E>
inline constexpr std::int64_t chunk_rows = (is_small_float<E> ? 2 : 22) * tile_rows;
/// The elements that a block of them takes.
template <class E>
inline constexpr std::int64_t chunk_elements = chunk_rows<E> * canonical_block;

/// Calls pack(first row, rows, where they go) for each group of `tile_rows` rows, of which a tile reads one after another.
template <class T, class F>
GRADUAL_INLINE void for_groups(std::int64_t end, std::int64_t k, T* chunk, F pack) {
  for (std::int64_t i = 0; i < end; i += tile_rows) pack(i, end - i < tile_rows ? end - i : tile_rows, chunk + i * k);
}

}  // namespace gradual::cpu
