#pragma once
#include <algorithm>

#include <gradual/core/canonical.hpp>
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/part.hpp>

namespace gradual::cpu {

/// Tables of `rows` by `width`, one per sample, with `positions` indices per sample that name rows.
struct OwnRows {
  std::int64_t rows, width, positions;

  constexpr std::int64_t table() const { return rows * width; }
  bool has(std::int32_t row) const { return row >= 0 && row < rows; }
};

/// y[s] = the row of its sample's table that index[s] names, or zeros if there is none. Computes one part of the positions.
template <class E>
void gather_own(const OwnRows& own, const E* tables, const std::int32_t* index, E* y, std::int64_t samples, Part part = {}) {
  const auto [first, last] = part.of(samples * own.positions);
  for (std::int64_t s = first; s < last; ++s) {
    const E* const table = tables + s / own.positions * own.table();
    if (own.has(index[s])) copy_row(table + index[s] * own.width, own.width, y + s * own.width);
    else std::fill_n(y + s * own.width, own.width, E{});
  }
}

/// Returns the elements of workspace that `scatter_own` needs: a block's chains and, for 16 bits, a sample's sums.
template <class E>
constexpr std::int64_t scatter_own_workspace(std::int64_t table, std::int64_t positions) {
  return (positions > canonical_block ? table : 0) + (is_small_float<E> ? table : 0);
}

/// tables[index[s]] += values[s] for each sample, in canonical order, from 0. Computes one part of the samples.
template <class E>
[[gnu::noinline]] void scatter_own(const OwnRows& own, const E* values, const std::int32_t* index, E* tables,
                                   std::int64_t samples, Computed<E>* workspace, Part part = {}) {
  using T = Computed<E>;
  const std::int64_t table = own.table(), width = own.width;
  const auto [first, last] = part.of(samples);
  for (std::int64_t sample = first; sample < last; ++sample) {
    T *total, *chains = workspace;
    if constexpr (is_small_float<E>) total = workspace, chains += table;
    else total = tables + sample * table;
    std::fill_n(total, table, T(0));
    for (std::int64_t begin = 0; begin < own.positions; begin += canonical_block) {
      const std::int64_t end = std::min(begin + canonical_block, own.positions);
      T* const to = begin == 0 ? total : chains;  // the first chains are their own sum with 0
      if (begin > 0) std::fill_n(chains, table, T(0));
      for (std::int64_t s = sample * own.positions + begin; s < sample * own.positions + end; ++s) {
        if (!own.has(index[s])) continue;
        T* const row = to + index[s] * width;
        const E* const from = values + s * width;
        GRADUAL_IVDEP
        for (std::int64_t c = 0; c < width; ++c) row[c] += static_cast<T>(from[c]);
      }
      if (begin == 0) continue;
      GRADUAL_IVDEP
      for (std::int64_t i = 0; i < table; ++i) total[i] += chains[i];
    }
    if constexpr (is_small_float<E>) copy_row(total, table, tables + sample * table);
  }
}

}  // namespace gradual::cpu
