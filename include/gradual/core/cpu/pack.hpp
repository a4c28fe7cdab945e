#pragma once
#include <gradual/core/cpu/tile.hpp>

namespace gradual::cpu {

/// Columns of a packed panel: two vectors.
template <class T>
inline constexpr std::int64_t panel_columns = 2 * Vec<T>::width;
/// Elements of the workspace that a product may need: one panel of one block.
template <class T>
inline constexpr std::int64_t panel_elements = canonical_block * panel_columns<T>;

/// panel[l][j] = b[l][j] for k rows of `columns` columns; the rest of the panel is zero.
template <class T>
void pack_rows(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel) {
  constexpr int width = Vec<T>::width;
  for (std::int64_t l = 0; l < k; ++l, b += b_row, panel += 2 * width) {
    if (columns == 2 * width) {
      Vec<T>::load(b).store(panel);
      Vec<T>::load(b + width).store(panel + width);
    } else {
      for (std::int64_t j = 0; j < 2 * width; ++j) panel[j] = j < columns ? b[j] : T(0);
    }
  }
}

#if defined(__AVX512F__)
/// Writes the transpose of the 16×16 floats at b, rows b_row apart, to rows `to_row` apart.
GRADUAL_INLINE void transpose16(const float* b, std::int64_t b_row, float* to, std::int64_t to_row) {
  __m512 r[16], t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_ps(b + i * b_row);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto pd = [](__m512 x) { return _mm512_castps_pd(x); };
    r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(pd(t[4 * i]), pd(t[4 * i + 2])));
    r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(pd(t[4 * i]), pd(t[4 * i + 2])));
    r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(pd(t[4 * i + 1]), pd(t[4 * i + 3])));
    r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(pd(t[4 * i + 1]), pd(t[4 * i + 3])));
  }
  // r[4g + c] holds, in its four quarters q, column 4q + c of rows 4g to 4g + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 a = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88), b2 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
    const __m512 d = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88), e = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
    _mm512_storeu_ps(to + c * to_row, _mm512_shuffle_f32x4(a, d, 0x88));
    _mm512_storeu_ps(to + (4 + c) * to_row, _mm512_shuffle_f32x4(b2, e, 0x88));
    _mm512_storeu_ps(to + (8 + c) * to_row, _mm512_shuffle_f32x4(a, d, 0xdd));
    _mm512_storeu_ps(to + (12 + c) * to_row, _mm512_shuffle_f32x4(b2, e, 0xdd));
  }
}
#endif

/// panel[l][j] = b[j][l]: the same from a matrix that is stored transposed.
template <class T>
void pack_columns(const T* b, std::int64_t b_row, std::int64_t k, std::int64_t columns, T* panel) {
  constexpr std::int64_t to_row = panel_columns<T>;
  std::int64_t done = 0;  // columns written for all k
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    done = columns / 16 * 16;
    for (std::int64_t j = 0; j < done; j += 16) {
      std::int64_t l = 0;
      for (; l + 16 <= k; l += 16) transpose16(b + j * b_row + l, b_row, panel + l * to_row + j, to_row);
      for (; l < k; ++l)
        for (std::int64_t i = j; i < j + 16; ++i) panel[l * to_row + i] = b[i * b_row + l];
    }
  }
#endif
  for (std::int64_t l = 0; l < k && done < to_row; ++l) {
    for (std::int64_t j = done; j < columns; ++j) panel[l * to_row + j] = b[j * b_row + l];
    for (std::int64_t j = columns; j < to_row; ++j) panel[l * to_row + j] = T(0);
  }
}

}  // namespace gradual::cpu
