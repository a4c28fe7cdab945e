#pragma once
#include <utility>

#include <gradual/core/canonical.hpp>
#include <gradual/core/cpu/simd.hpp>

namespace gradual::cpu {

/// A stride known to the compiler, so that addresses need no registers; a std::int64_t serves where it is not known.
template <std::int64_t N>
using Static = std::integral_constant<std::int64_t, N>;

/// The chains of R × V vectors of outputs, held in registers.
template <class T, int R, int V>
struct Tile {
  static constexpr int width = Vec<T>::width;
  Vec<T> chain[R][V];

  GRADUAL_INLINE void clear() {
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) chain[r][v] = Vec<T>::zero();
  }

  /// Continues every chain by k steps: a is read at (row, step), b at (step, column). `columns` ≤ V·width are there.
  template <bool Masked, class RowStride, class StepStride, class PanelStride>
  GRADUAL_INLINE void run(const T* a, RowStride a_row, StepStride a_step, const T* b, PanelStride b_step, std::int64_t k,
                          std::int64_t columns) {
    for (std::int64_t l = 0; l < k; ++l) {
      Vec<T> row[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        row[v] = Masked && v == V - 1 ? Vec<T>::load(b + v * width, columns - v * width) : Vec<T>::load(b + v * width);
#pragma GCC unroll 32
      for (int r = 0; r < R; ++r) {
        const Vec<T> x = Vec<T>::broadcast(a[r * a_row]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) chain[r][v] = fma(x, row[v], chain[r][v]);
      }
      a += a_step;
      b += b_step;
    }
  }

  /// Calls f(vector, pointer, lanes) for the part of c that the tile covers; count < 0: all.
  template <bool Masked, class Pointer, class F>
  GRADUAL_INLINE void each(Pointer c, std::int64_t c_row, std::int64_t columns, F f) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        f(chain[r][v], c + r * c_row + v * width, Masked && v == V - 1 ? columns - v * width : -1);
  }

  /// Asks for the tile's part of c, to be written after the chains have run.
  GRADUAL_INLINE void prefetch(const T* c, std::int64_t c_row) const {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * c_row + v * width, 1);
  }

  template <bool Masked>
  GRADUAL_INLINE void load(const T* c, std::int64_t c_row, std::int64_t columns) {
    each<Masked>(c, c_row, columns, [](Vec<T>& x, const T* p, std::int64_t count) __attribute__((always_inline)) {
      x = count < 0 ? Vec<T>::load(p) : Vec<T>::load(p, count);
    });
  }
  template <bool Masked>
  GRADUAL_INLINE void store(T* c, std::int64_t c_row, std::int64_t columns) {
    each<Masked>(c, c_row, columns, [](Vec<T>& x, T* p, std::int64_t count) __attribute__((always_inline)) {
      count < 0 ? x.store(p) : x.store(p, count);
    });
  }
  /// Adds the closed block to c, or to +0 where it is the first.
  template <bool Masked>
  GRADUAL_INLINE void close(T* c, std::int64_t c_row, std::int64_t columns, bool first) {
    if (first) {
      each<Masked>(c, c_row, columns, [](Vec<T>& x, T* p, std::int64_t count) __attribute__((always_inline)) {
        const Vec<T> sum = Vec<T>::zero() + x;
        count < 0 ? sum.store(p) : sum.store(p, count);
      });
    } else {
      each<Masked>(c, c_row, columns, [](Vec<T>& x, T* p, std::int64_t count) __attribute__((always_inline)) {
        const Vec<T> sum = (count < 0 ? Vec<T>::load(p) : Vec<T>::load(p, count)) + x;
        count < 0 ? sum.store(p) : sum.store(p, count);
      });
    }
  }
};

/// Calls f(rows as a constant, first row) for tiles that cover m rows.
template <class F>
GRADUAL_INLINE void for_row_tiles(std::int64_t m, F f) {
  std::int64_t i = 0;
  for (; i + tile_rows <= m; i += tile_rows) f(std::integral_constant<int, tile_rows>{}, i);
  if (i + 8 <= m && tile_rows > 8) f(std::integral_constant<int, 8>{}, i), i += 8;
  if (i + 4 <= m) f(std::integral_constant<int, 4>{}, i), i += 4;
  if (i + 2 <= m) f(std::integral_constant<int, 2>{}, i), i += 2;
  if (i < m) f(std::integral_constant<int, 1>{}, i);
}

/// Calls f(vectors, whether the last is cut, first column, columns) for panels that cover n columns, in constants.
template <class T, std::int64_t N, std::int64_t J = 0, class F>
GRADUAL_INLINE void for_panels(F f) {
  constexpr std::int64_t width = Vec<T>::width, whole = N / (2 * width) * (2 * width), rest = N - whole;
  for (std::int64_t j = 0; j < whole; j += 2 * width) f(std::integral_constant<int, 2>{}, std::false_type{}, j, 2 * width);
  if constexpr (rest > width) f(std::integral_constant<int, 2>{}, std::bool_constant<rest != 2 * width>{}, whole, rest);
  else if constexpr (rest > 0) f(std::integral_constant<int, 1>{}, std::bool_constant<rest != width>{}, whole, rest);
}

}  // namespace gradual::cpu
