#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include <gradual/core/cpu/batch_contraction.hpp>
#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::cpu {

/// An operand of a contraction over a window whose rows lie in several values: in each sample, rows of the first, then
/// those of the second, and so on.
template <class E>
struct RowsOfUses {
  std::span<const void* const> values;
  std::int64_t columns, positions;  ///< of one row; of one value in one sample

  /// Returns the elements of workspace in which the rows of a block are put together.
  static constexpr std::int64_t workspace(std::int64_t uses, std::int64_t columns) {
    return uses > 1 ? canonical_block * columns : 0;
  }
  constexpr std::int64_t workspace() const { return workspace(static_cast<std::int64_t>(values.size()), columns); }

  /// Returns rows [at, at + count) of a micro-batch, at most a block of them, one after another.
  const E* rows(std::int64_t at, std::int64_t count, E* workspace) const {
    if (values.size() == 1) return static_cast<const E*>(values[0]) + at * columns;
    const std::size_t uses = values.size();
    auto use = static_cast<std::size_t>(at / positions) % uses;
    std::int64_t place = at % positions, first = at / positions / static_cast<std::int64_t>(uses) * positions;
    for (E* to = workspace; count > 0; place = 0) {
      const std::int64_t run = std::min(positions - place, count);
      copy_row(static_cast<const E*>(values[use]) + (first + place) * columns, run * columns, to);
      to += run * columns;
      count -= run;
      if (++use == uses) use = 0, first += positions;
    }
    return workspace;
  }
};

/// Adds a micro-batch to a contraction over (sample, use, position), block after block: `contract(a, g, part, workspace)` is
/// `batch_contraction` for rows that lie one after another. `p`: positions of one sample, over all uses.
template <class E, class T, class W, class F>
void contraction_of_uses(const RowsOfUses<E>& a, const RowsOfUses<E>& g, std::int64_t p, const WindowPart<T, W>& window,
                         T* workspace, F contract) {
  if (a.values.size() == 1 && g.values.size() == 1)
    return contract(static_cast<const E*>(a.values[0]), static_cast<const E*>(g.values[0]), window, workspace);
  T *const rows_of_g = workspace + a.workspace(), *const rest = rows_of_g + g.workspace();
  for (const BlockPiece& piece : window.blocks(p)) {
    const std::int64_t from = piece.begin - window.begin, count = piece.count();
    const bool first = window.first && from == 0;  // a piece that does not end the micro-batch ends a block
    const WindowPart<T, W> block{window.total, window.open, piece.begin, count, first, window.last};
    contract(a.rows(from, count, reinterpret_cast<E*>(workspace)), g.rows(from, count, reinterpret_cast<E*>(rows_of_g)), block,
             rest);
  }
}

}  // namespace gradual::cpu
