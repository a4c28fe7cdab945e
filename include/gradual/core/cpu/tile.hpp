#pragma once
#include <type_traits>

#include <gradual/core/canonical.hpp>
#include <gradual/core/cpu/copy_few.hpp>
#include <gradual/core/cpu/simd.hpp>
#include <gradual/core/dtype.hpp>

namespace gradual::cpu {

/// The elements of R rows at one step; steps are `Step` elements apart, or any number (0). Rows are addressed in fours, since
/// an address holds one base and one scaled stride.
template <class T, int R, int Step = 0>
class RowPointers {
 public:
  GRADUAL_INLINE RowPointers(const T* a, std::int64_t stride, std::int64_t step = Step)
      : one_(stride), three_(3 * stride), step_(step) {
    for (int g = 0; g < groups; ++g) base_[g] = a + 4 * g * stride;
  }
  GRADUAL_INLINE T operator[](int r) const {
    const T* base = base_[r / 4];
    return r % 4 == 0 ? *base : r % 4 == 1 ? base[one_] : r % 4 == 2 ? base[2 * one_] : base[three_];
  }
  GRADUAL_INLINE void advance() {
    for (int g = 0; g < groups; ++g) base_[g] += Step > 0 ? Step : step_;
  }

 private:
  static constexpr int groups = (R + 3) / 4;
  const T* base_[groups];
  std::int64_t one_, three_, step_;
};
/// The same for rows that lie side by side.
template <class T>
struct AdjacentRows {
  const T* at;
  std::int64_t step;
  GRADUAL_INLINE T operator[](int r) const { return at[r]; }
  GRADUAL_INLINE void advance() { at += step; }
};

/// Rows of B, one for each step, at equal distances.
template <class T>
struct EvenRows {
  const T* at;
  std::int64_t step;
  GRADUAL_INLINE const T* next() {
    const T* const row = at;
    at += step;
    return row;
  }
};
/// The same, packed while they are read.
template <class T>
struct PackedRows : EvenRows<T> {
  T* packed;
};
/// Rows of a packed panel.
template <class T>
struct PanelRows {
  const T* at;
  GRADUAL_INLINE const T* next() {
    const T* const row = at;
    at += 2 * Vec<T>::width;
    return row;
  }
};
/// Rows at places given by a table.
template <class T>
struct ScatteredRows {
  const T* base;
  const std::int64_t* offset;
  GRADUAL_INLINE const T* next() { return base + *offset++; }
};

/// The chains of R × V vectors of outputs, held in registers. `columns` ≤ V·width exist; all of them if not Masked.
template <class T, int R, int V, bool Masked>
struct Tile {
  static constexpr int width = Vec<T>::width;
  Vec<T> chain[R][V];

  GRADUAL_INLINE void clear() {
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) chain[r][v] = Vec<T>::zero();
  }

  /// Continues every chain by a step.
  template <class ARows, class BRows>
  GRADUAL_INLINE void step(ARows& rows, BRows& b_rows, std::int64_t columns) {
    const T* const b = b_rows.next();
    Vec<T> row[V];
    GRADUAL_UNROLL(8)
    for (int v = 0; v < V; ++v) {
      row[v] = Masked && v == V - 1 ? Vec<T>::load(b + v * width, columns - v * width) : Vec<T>::load(b + v * width);
      if constexpr (R > 1) row[v].keep();  // used by all rows
    }
    if constexpr (std::is_same_v<BRows, PackedRows<T>>)
      for (int v = 0; v < V; ++v, b_rows.packed += width) row[v].store(b_rows.packed);
    GRADUAL_UNROLL(32)
    for (int r = 0; r < R; ++r) {
      const Vec<T> x = Vec<T>::broadcast(rows[r]);
      GRADUAL_UNROLL(8)
      for (int v = 0; v < V; ++v) chain[r][v] = fma(x, row[v], chain[r][v]);
    }
    rows.advance();
  }

  /// Calls f(vector, pointer, lanes) for the part of c that the tile covers; lanes < 0: all.
  template <class Pointer, class F>
  GRADUAL_INLINE void each(Pointer c, std::int64_t c_row, std::int64_t columns, F f) {
    GRADUAL_UNROLL(32)
    for (int r = 0; r < R; ++r, c += c_row) {
      asm("" : "+r"(c));  // else all rows' addresses would be computed at once and not fit in registers
      GRADUAL_UNROLL(8)
      for (int v = 0; v < V; ++v) f(chain[r][v], c + v * width, Masked && v == V - 1 ? columns - v * width : -1);
    }
  }

  /// Prefetches a row of outputs for writing.
  template <class E>
  GRADUAL_INLINE static void prefetch(const E* c) {
    GRADUAL_UNROLL(8)
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + v * width, 1);
  }

  GRADUAL_INLINE void load(const T* c, std::int64_t c_row, std::int64_t columns) {
    each(c, c_row, columns, [](Vec<T>& x, const T* p, std::int64_t count) __attribute__((always_inline)) {
      x = count < 0 ? Vec<T>::load(p) : Vec<T>::load(p, count);
    });
  }
  GRADUAL_INLINE void store(T* c, std::int64_t c_row, std::int64_t columns) {
    constexpr bool copies = Masked && !Vec<T>::stores_parts;
    T ends[copies ? R : 1][width];  // last vectors of rows, which are copied
    int row = 0;
    each(c, c_row, columns, [&](Vec<T>& x, T* p, std::int64_t count) __attribute__((always_inline)) {
      if (count < 0) x.store(p);
      else if (copies) x.store(ends[row++]);
      else x.store(p, count);
    });
    constexpr int end = (V - 1) * width;
    GRADUAL_UNROLL(1)
    for (int r = 0; r < row; ++r) copy_few<width>(ends[r], columns - end, c + r * c_row + end);
  }
  /// Adds the closed block to c, or to +0 if it is the first.
  GRADUAL_INLINE void close(T* c, std::int64_t c_row, std::int64_t columns, bool first) {
    each(c, c_row, columns, [first](Vec<T>& x, T* p, std::int64_t count) __attribute__((always_inline)) {
      x = (first ? Vec<T>::zero() : count < 0 ? Vec<T>::load(p) : Vec<T>::load(p, count)) + x;
    });
    store(c, c_row, columns);
  }
  /// Does the same for sums held in another type than chains.
  template <class W>
  GRADUAL_INLINE void close(W* c, std::int64_t c_row, std::int64_t columns, bool first) {
    each(c, c_row, columns, [first](const Vec<T>& x, W* p, std::int64_t count) __attribute__((always_inline)) {
      T block[width];
      x.store(block);
      const std::int64_t lanes = count < 0 ? width : count;
      for (std::int64_t l = 0; l < lanes; ++l) {
        W sum = first ? W{} : p[l];
        sum += block[l];
        p[l] = sum;
      }
    });
  }
};

/// Returns p + n, where p may be null.
template <class T>
GRADUAL_INLINE T* past(T* p, std::int64_t n) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(n) * sizeof(T));
}

/// One tile of a product: where its operands lie, where its chains come from and where they go. W: the type that holds sums.
template <class T, class W = T>
struct TileTask {
  const T *a, *b;
  const std::int64_t* b_offset;  ///< of scattered rows
  std::int64_t a_row, a_step, b_step, k, columns;
  T* packed;       ///< where a full tile packs rows of B for those after it, or null
  T* open;         ///< where unfinished chains are kept, or null
  W* total;        ///< what closed blocks are added to
  std::int64_t row;  ///< from one row of outputs to the next
  std::int64_t next;     ///< from these outputs to those of the next tile
  bool far = false;      ///< outputs lie beyond the inner caches
  bool grouped = false;  ///< rows of A lie in groups: for each step, one element of each row
  bool aliased = false;  ///< rows of A share so few sets of the first-level cache that more than eight evict each other
  bool resumes = false, closes = true;  ///< chains continue from `open`; end in `total`, not in `open`
  bool first = true;     ///< no block has been added to `total` yet

  /// Returns the most rows that a tile may have.
  GRADUAL_INLINE int tallest() const { return aliased ? 8 : grouped ? tile_rows : 2 * tile_rows; }

  /// Returns where the rows of A begin, from row i on.
  GRADUAL_INLINE const T* rows_from(std::int64_t i) const {
    return a + (grouped ? i / tile_rows * tile_rows * k + i % tile_rows : i * a_row);
  }
};

template <int R, int V, bool Masked, class T, class W, class ARows, class BRows>
GRADUAL_INLINE void run_tile(const TileTask<T, W>& t, ARows rows, BRows b_rows) {
  using Tile = cpu::Tile<T, R, V, Masked>;
  Tile tile;
  if (t.resumes) tile.load(t.open, t.row, t.columns);
  else tile.clear();
  std::int64_t l = 0;
  if constexpr (R == tile_rows && V == 2 && !Masked) {
    constexpr int steps = 4;  // per row of the next tile's outputs, which are prefetched while this tile runs
    for (std::int64_t next = t.next; t.far && l < R * steps && l + steps <= t.k; l += steps, next += t.row) {
      if (t.closes) Tile::prefetch(t.total + next);
      if (t.resumes || !t.closes) Tile::prefetch(t.open + next);
      GRADUAL_UNROLL(1)
      for (int s = 0; s < steps; ++s) tile.step(rows, b_rows, t.columns);
    }
  }
  if constexpr (std::is_same_v<BRows, PanelRows<T>>) {
    GRADUAL_UNROLL(4)
    for (; l < t.k; ++l) tile.step(rows, b_rows, t.columns);
  } else {
    for (; l < t.k; ++l) tile.step(rows, b_rows, t.columns);
  }
  if (t.closes) tile.close(t.total, t.row, t.columns, t.first);
  else tile.store(t.open, t.row, t.columns);
}

/// Tiles inlined where they are used, for products of one panel of `Columns` columns.
template <std::int64_t Columns>
struct InlineTiles {
  static constexpr std::int64_t columns = Columns;
  template <class T, int R, int V, bool Masked, class W>
  GRADUAL_INLINE static void run(const TileTask<T, W>& t) {
    run_tile<R, V, Masked>(t, RowPointers<T, R>(t.a, t.a_row, t.a_step), EvenRows<T>{t.b, t.b_step});
  }
};
/// Runs a full tile that packs the rows of B in passing.
template <class T, class W>
[[gnu::noinline]] void run_packing_tile(const TileTask<T, W>& t) {
  run_tile<tile_rows, 2, false>(t, RowPointers<T, tile_rows>(t.a, t.a_row, t.a_step), PackedRows<T>{{t.b, t.b_step}, t.packed});
}
/// Whether full tiles of a packed panel have their steps unrolled: if another program runs on the core's other thread, the
/// number of operations besides multiply-adds matters, which is small with AVX-512.
template <class T>
inline constexpr bool unrolls_steps = Vec<T>::width * sizeof(T) <= 32;
template <class T, class W>
[[gnu::noinline]] void run_adjacent_rows(const TileTask<T, W>& t) {
  run_tile<tile_rows, 2, false>(t, AdjacentRows<T>{t.a, t.a_step}, PanelRows<T>{t.b});
}
template <class T, class W>
[[gnu::noinline]] void run_dense_rows(const TileTask<T, W>& t) {
  run_tile<tile_rows, 2, false>(t, RowPointers<T, tile_rows, 1>(t.a, t.a_row), PanelRows<T>{t.b});
}
/// Tiles compiled once for each number of rows and vectors, whatever the sizes of the products that use them.
struct SharedTiles {
  static constexpr std::int64_t columns = 0;  ///< any number
  template <class T, int R, int V, bool Masked, class W>
  [[gnu::noinline]] static void run(const TileTask<T, W>& t) {
    if constexpr (R == tile_rows && V == 2 && !Masked) {
      if (t.packed != nullptr) return run_packing_tile(t);
      if (unrolls_steps<T> && t.b_step == 2 * Vec<T>::width) {
        if (t.a_row == 1) return run_adjacent_rows(t);
        if (t.a_step == 1) return run_dense_rows(t);
      }
    }
    InlineTiles<0>::run<T, R, V, Masked>(t);
  }
};

/// The same for rows of B at places given by a table.
struct ScatteredTiles {
  static constexpr std::int64_t columns = 0;
  template <class T, int R, int V, bool Masked, class W>
  [[gnu::noinline]] static void run(const TileTask<T, W>& t) {
    run_tile<R, V, Masked>(t, RowPointers<T, R>(t.a, t.a_row, t.a_step), ScatteredRows<T>{t.b, t.b_offset});
  }
};

/// Calls f(rows as a constant, first row) for tiles of V vectors and at most `tallest` rows that cover rows 0 to end. `Shared`:
/// they are compiled once.
template <int V, bool Shared, class F>
GRADUAL_INLINE void for_row_tiles(std::int64_t end, int tallest, F f) {
  std::int64_t i = 0;
  if constexpr (V == 1)  // as many chains as tiles of two vectors have
    for (; tallest >= 2 * tile_rows && i + 2 * tile_rows <= end; i += 2 * tile_rows)
      f(std::integral_constant<int, 2 * tile_rows>{}, i);
  const bool halves = tile_rows > 8 && tallest > tile_rows;  // of the last 16 rows, since a tile of four waits for its chains
  for (; tallest >= tile_rows && i + tile_rows <= end && !(halves && end - i == 16); i += tile_rows)
    f(std::integral_constant<int, tile_rows>{}, i);
  if constexpr (V == 1 && tile_rows > 8 && Shared)  // the taps of a window of 3 × 3: one row alone would wait for its chain
    if (tallest > 8 && end - i == 9) return f(std::integral_constant<int, 9>{}, i);
  for (; tile_rows > 8 && i + 8 <= end; i += 8) f(std::integral_constant<int, 8>{}, i);
  if (i + 4 <= end) f(std::integral_constant<int, 4>{}, i), i += 4;
  if (i + 2 <= end) f(std::integral_constant<int, 2>{}, i), i += 2;
  if (i < end) f(std::integral_constant<int, 1>{}, i);
}

/// Rows that will be packed after the current panel; each tile prefetches a few.
template <class E>
struct Upcoming {
  const E* rows = nullptr;
  std::int64_t count = 0, stride = 0;

  GRADUAL_INLINE void prefetch(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end && i < count; ++i)
      for (int v = 0; v < 2; ++v) __builtin_prefetch(rows + i * stride + v * Vec<Computed<E>>::width, 0, 2);
  }
};

/// Runs the tiles that cover `rows` rows of one panel of t.columns columns; t describes the first row.
template <class Tiles, class T, class W, class E>
GRADUAL_INLINE void cover_panel(TileTask<T, W> t, std::int64_t rows, const Upcoming<E>& upcoming) {
  constexpr std::int64_t width = Vec<T>::width, known = Tiles::columns;
  const TileTask<T, W> first = t;
  const auto run = [&](auto vectors, auto masked) __attribute__((always_inline)) {
    for_row_tiles<vectors(), known == 0>(rows, t.tallest(), [&](auto height, std::int64_t i) __attribute__((always_inline)) {
      upcoming.prefetch(i, i + height());
      t.a = first.rows_from(i);
      t.total = first.total + i * t.row;
      t.open = past(first.open, i * t.row);
      t.next = i + height() < rows ? height() * t.row : t.columns - i * t.row;
      Tiles::template run<T, height(), vectors(), masked()>(t);
      if (t.packed != nullptr) {
        t.b = t.packed;
        t.b_step = vectors() * Vec<T>::width;
        t.packed = nullptr;
      }
    });
  };
  if constexpr (known > 0)
    run(std::integral_constant<int, (known > width ? 2 : 1)>{}, std::bool_constant<known % width != 0>{});
  else if (t.columns == 2 * width) run(std::integral_constant<int, 2>{}, std::false_type{});
  else if (t.columns > width) run(std::integral_constant<int, 2>{}, std::true_type{});
  else run(std::integral_constant<int, 1>{}, std::true_type{});
}

/// Does the same for tiles of any number of columns; compiled once, like those tiles.
template <class Tiles, class T, class W, class E>
[[gnu::noinline]] void cover_shared_panel(const TileTask<T, W>& t, std::int64_t rows, const Upcoming<E>& upcoming) {
  cover_panel<Tiles>(t, rows, upcoming);
}
template <class Tiles, class T, class W, class E = T>
GRADUAL_INLINE void run_panel(const TileTask<T, W>& t, std::int64_t rows, const Upcoming<E>& upcoming = {}) {
  if constexpr (Tiles::columns > 0) cover_panel<Tiles>(t, rows, upcoming);
  else cover_shared_panel<Tiles>(t, rows, upcoming);
}

/// Returns the vectors side by side in a tile: more than 2 if rows are so few that chains of two vectors would wait for
/// themselves and there are enough columns; else 2.
template <class T>
constexpr int wide_vectors(std::int64_t rows, std::int64_t columns) {
  if (rows == 1 && columns >= 8 * Vec<T>::width) return 8;
  return columns >= 4 * Vec<T>::width && (rows <= 3 || (rows == 4 && tile_rows > 8)) ? 4 : 2;
}
/// Runs tiles of more than two vectors that cover `rows` rows, all that there are.
template <class Tiles, class T, class W>
GRADUAL_INLINE void run_wide(const TileTask<T, W>& t, std::int64_t rows) {
  if (t.columns == 8 * Vec<T>::width) Tiles::template run<T, 1, 8, false>(t);
  else if (rows == 1) Tiles::template run<T, 1, 4, false>(t);
  else if (rows < 4) Tiles::template run<T, 2, 4, false>(t);
  else Tiles::template run<T, 4, 4, false>(t);
  if (rows != 3) return;
  TileTask<T, W> third = t;
  third.a = t.rows_from(2);
  third.total += 2 * t.row;
  third.open = past(t.open, 2 * t.row);
  Tiles::template run<T, 1, 4, false>(third);
}
/// Runs the tiles that cover `columns` columns of `rows` rows, which may be few. t describes the first column and is advanced.
template <class Tiles, class T, class W>
GRADUAL_INLINE void run_few_rows(TileTask<T, W>& t, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t width = Vec<T>::width;
  for (std::int64_t left = columns; left > 0; left -= t.columns) {
    const std::int64_t widest = wide_vectors<T>(rows, left) * width;
    t.columns = left < widest ? left : widest;
    if (t.columns > 2 * width) run_wide<Tiles>(t, rows);
    else run_panel<Tiles>(t, rows);
    t.b += t.columns;
    t.total += t.columns;
    t.open = past(t.open, t.columns);
  }
}

}  // namespace gradual::cpu
