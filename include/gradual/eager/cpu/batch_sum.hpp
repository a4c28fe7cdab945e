#pragma once
#include <gradual/core/cpu/batch_contraction.hpp>

namespace gradual::eager {

/// Workspace of `batch_sum`, in elements.
inline constexpr std::int64_t batch_sum_chains = 128;

/// Computes total[columns] += Σ over positions s of x[s], in canonical order with p positions in each sample, for one part of
/// the columns; x is count×columns. The bits do not depend on how a window is split into parts.
template <class T>
void batch_sum(const T* x, std::int64_t columns, std::int64_t p, const cpu::WindowPart<T>& window, T* chains,
               cpu::Part part) {
  const auto [first_column, last_column] = part.of(columns, 16);
  if (window.first)
    for (std::int64_t c = first_column; c < last_column; ++c) window.total[c] = T(0);
  for (const BlockPiece& piece : window.blocks(p)) {
    for (std::int64_t j = first_column; j < last_column; j += batch_sum_chains) {
      const std::int64_t width = last_column - j < batch_sum_chains ? last_column - j : batch_sum_chains;
      for (std::int64_t c = 0; c < width; ++c) chains[c] = piece.begins ? T(0) : window.open[j + c];
      for (std::int64_t r = piece.begin; r < piece.end; ++r) {
        const T* row = x + (r - window.begin) * columns + j;
        GRADUAL_IVDEP
        for (std::int64_t c = 0; c < width; ++c) chains[c] += row[c];
      }
      if (piece.closes)
        for (std::int64_t c = 0; c < width; ++c) window.total[j + c] += chains[c];
      else
        for (std::int64_t c = 0; c < width; ++c) window.open[j + c] = chains[c];
    }
  }
}

}  // namespace gradual::eager
