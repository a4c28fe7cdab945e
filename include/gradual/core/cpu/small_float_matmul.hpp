#pragma once
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/matmul.hpp>

// Products of numbers of 16 bits: they become floats where they are packed, a few rows and one panel at a time.

namespace gradual::cpu {

/// Rows whose sums are floats until all blocks are added.
inline constexpr std::int64_t small_float_rows = 2 * 12;

/// Elements of workspace that each thread needs for a product of elements of type E, of what these are computed in.
template <class E>
constexpr std::int64_t workspace_of(const MatmulForm& form) {
  if constexpr (!is_small_float<E>) return form.workspace<E>();
  const std::int64_t steps = form.k < canonical_block ? form.k : canonical_block;
  return steps * panel_columns<float> + small_float_rows * (chunk_stride + panel_columns<float>);
}

/// C = op(A)·op(B) as for floats: chains and sums of blocks are floats, of which each output is rounded once.
template <class E>
  requires is_small_float<E>
[[gnu::noinline]] void matmul(const MatmulForm& form, const E* a, const E* b, E* c, std::int64_t m, float* workspace,
                              Part part = {}) {
  constexpr std::int64_t width = panel_columns<float>;
  const std::int64_t n = form.n, depth = form.k;
  const bool by_panels = n >= 2 * part.count * width;
  const auto [first_row, last_row] = by_panels ? Part::Range{0, m} : part.of(m, tile_rows);
  const auto [first_column, last_column] = by_panels ? part.of(n, width) : Part::Range{0, n};
  float* const panel = workspace;
  float* const sums = panel + (depth < canonical_block ? depth : canonical_block) * width;
  float* const chunk = sums + small_float_rows * width;
  TileTask<float> tile{};
  tile.row = tile.b_step = width;
  tile.a_row = chunk_stride;
  tile.a_step = 1;
  tile.a = chunk;
  tile.b = panel;
  tile.total = sums;
  for (std::int64_t i = first_row; i < last_row; i += small_float_rows) {
    const std::int64_t rows = last_row - i < small_float_rows ? last_row - i : small_float_rows;
    for (std::int64_t j = first_column; j < last_column; j += width) {
      tile.columns = last_column - j < width ? last_column - j : width;
      if (depth == 0) std::fill_n(sums, rows * width, 0.0f);
      for (std::int64_t block = 0; block < depth; block += canonical_block) {
        tile.k = depth - block < canonical_block ? depth - block : canonical_block;
        tile.first = block == 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          if (form.trans_a)
            for (std::int64_t l = 0; l < tile.k; ++l)
              chunk[r * chunk_stride + l] = static_cast<float>(a[(block + l) * m + i + r]);
          else copy_row(a + (i + r) * depth + block, tile.k, chunk + r * chunk_stride);
        }
        if (form.trans_b)
          for (std::int64_t l = 0; l < tile.k; ++l)
            for (std::int64_t o = 0; o < width; ++o)
              panel[l * width + o] = o < tile.columns ? static_cast<float>(b[(j + o) * depth + block + l]) : 0.0f;
        else pack_rows(b + block * n + j, n, tile.k, tile.columns, panel);
        run_panel<SharedTiles>(tile, rows);
      }
      for (std::int64_t r = 0; r < rows; ++r) copy_row(sums + r * width, tile.columns, c + (i + r) * n + j);
    }
  }
}

}  // namespace gradual::cpu
