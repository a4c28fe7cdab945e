#pragma once
#include <algorithm>

#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// y[s] = table[index[s]] for `count` positions, in rows of `width`. Computes one part of the positions.
template <class T>
void gather(const T* table, const std::int32_t* index, T* y, std::int64_t count, std::int64_t width, Part part = {}) {
  const auto [first, last] = part.of(count);
  for (std::int64_t s = first; s < last; ++s) copy_row(table + index[s] * width, width, y + s * width);
}

/// total[index[s]] += g[s] over the positions of a window, p in each sample, in canonical order: a row's chain within a
/// block is of the positions that name it. However a window is cut into parts, the bits are the same. `workspace` has
/// room for a block of rows. Computes one part of the columns.
template <class E, class T, class W = T>
[[gnu::noinline]] void batch_scatter(const E* g, const std::int32_t* index, std::int64_t rows, std::int64_t width,
                                     std::int64_t p, const WindowPart<T, W>& window, T* workspace, Part part = {}) {
  const auto [first, last] = part.of(width, 16);
  const auto for_columns = [first = first, last = last](auto* to, const auto* from) {
    GRADUAL_IVDEP
    for (std::int64_t c = first; c < last; ++c) to[c] += static_cast<T>(from[c]);
  };
  if (window.first && window.count > 0)
    for (std::int64_t r = 0; r < rows; ++r) std::fill(window.total + r * width + first, window.total + r * width + last, W{});
  for (const BlockPiece& piece : window.blocks(p)) {
    const std::int64_t count = piece.count();
    const E* values = g + (piece.begin - window.begin) * width;
    const std::int32_t* named = index + (piece.begin - window.begin);
    if (piece.begins && piece.closes) {  // chains of the rows that are named, each kept where it is first named
      for (std::int64_t s = 0; s < count; ++s) {
        const std::int64_t at_first = std::find(named, named + s, named[s]) - named;
        if (at_first == s) std::fill(workspace + s * width + first, workspace + s * width + last, T(0));
        for_columns(workspace + at_first * width, values + s * width);
      }
      for (std::int64_t s = 0; s < count; ++s)
        if (std::find(named, named + s, named[s]) == named + s)
          for_columns(window.total + named[s] * width, workspace + s * width);
    } else {
      for (std::int64_t r = 0; r < rows && piece.begins; ++r)
        std::fill(window.open + r * width + first, window.open + r * width + last, T(0));
      for (std::int64_t s = 0; s < count; ++s) for_columns(window.open + named[s] * width, values + s * width);
      for (std::int64_t r = 0; r < rows && piece.closes; ++r) for_columns(window.total + r * width, window.open + r * width);
    }
  }
}

/// Elements of workspace that `batch_scatter` needs.
constexpr std::int64_t scatter_workspace(std::int64_t width) { return canonical_block * width; }

}  // namespace gradual::cpu
