#pragma once
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/matmul.hpp>

// Products of numbers of 16 bits, which become floats when they are packed, a few rows and one panel at a time.

namespace gradual::cpu {

/// Returns the elements of workspace per thread, in the type in which E is computed, for a product of elements of type E.
template <class E>
constexpr std::int64_t workspace_of(const MatmulForm& form) {
  if constexpr (!is_small_float<E>) return form.workspace<E>();
  const std::int64_t steps = form.k < canonical_block ? form.k : canonical_block;
  return steps * panel_columns<float> + chunk_rows<E> * (steps + panel_columns<float>);
}

/// C = op(A)·op(B) as for floats: chains and sums of blocks are floats, and each output is rounded once.
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
  float* const sums = panel + (depth < canonical_block ? depth : canonical_block) * width;  // until all blocks are added
  float* const chunk = sums + chunk_rows<E> * width;
  TileTask<float> tile{};
  tile.row = tile.b_step = width;
  tile.grouped = true;
  tile.a_row = 1;
  tile.a_step = tile_rows;
  tile.a = chunk;
  tile.b = panel;
  tile.total = sums;
  for (std::int64_t i = first_row; i < last_row; i += chunk_rows<E>) {
    const std::int64_t rows = last_row - i < chunk_rows<E> ? last_row - i : chunk_rows<E>;
    for (std::int64_t j = first_column; j < last_column; j += width) {
      tile.columns = last_column - j < width ? last_column - j : width;
      if (depth == 0) std::fill_n(sums, rows * width, 0.0f);
      for (std::int64_t block = 0; block < depth; block += canonical_block) {
        tile.k = depth - block < canonical_block ? depth - block : canonical_block;
        tile.first = block == 0;
        for_groups(rows, tile.k, chunk, [&](std::int64_t r, std::int64_t count, float* to) {
          if (form.trans_a) pack_rows(a + block * m + i + r, m, tile.k, count, to, tile_rows);
          else pack_columns(a + (i + r) * depth + block, depth, tile.k, count, to, tile_rows);
        });
        if (form.trans_b) pack_columns(b + j * depth + block, depth, tile.k, tile.columns, panel);
        else pack_rows(b + block * n + j, n, tile.k, tile.columns, panel);
        run_panel<SharedTiles>(tile, rows);
      }
      for (std::int64_t r = 0; r < rows; ++r) copy_row(sums + r * width, tile.columns, c + (i + r) * n + j);
    }
  }
}

}  // namespace gradual::cpu
