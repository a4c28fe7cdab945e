#pragma once
#include <gradual/core/cpu/matmul.hpp>

namespace gradual::eager {

/// Where the chains of one block of a matrix product begin and end: total and open have rows of `row` elements.
template <class T>
struct BlockEnds {
  T* total;        ///< sums of closed blocks
  T* open;         ///< chains of the block that is not finished; read and written only where the flags say so
  bool continues;  ///< the chains go on from `open`, else from +0
  bool closes;     ///< they are added to `total`, else left in `open`
  bool first;      ///< no block has been added to `total` yet: it counts as +0, whatever it holds
};

/// Calls f(vectors, whether the last is cut) in constants for a panel of `columns` columns.
template <class T, class F>
GRADUAL_INLINE void with_panel(std::int64_t columns, F f) {
  constexpr std::int64_t width = cpu::Vec<T>::width;
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  if (columns == 2 * width) f(Two{}, std::false_type{});
  else if (columns > width) f(Two{}, std::true_type{});
  else f(One{}, std::true_type{});
}

/// Runs the chains of one block, at most canonical_block steps, for all m×n outputs: a is read at (row, step), b at
/// (step, column), or at (column, step) where transposed, its rows b_row apart.
template <class T, class RowStride, class StepStride>
void block_product(const T* a, RowStride a_row, StepStride a_step, const T* b, std::int64_t b_row, bool transposed,
                   std::int64_t m, std::int64_t n, std::int64_t k, const BlockEnds<T>& ends, T* panel) {
  constexpr std::int64_t width = cpu::panel_columns<T>;
  const bool pack = transposed || (m > cpu::tile_rows && cpu::packs<T>(k, b_row));
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t columns = n - j < width ? n - j : width;
    if (transposed) cpu::pack_columns(b + j * b_row, b_row, k, columns, panel);
    else if (pack) cpu::pack_rows(b + j, b_row, k, columns, panel);
    with_panel<T>(columns, [&](auto vectors, auto masked) {
      cpu::for_row_tiles(m, [&](auto rows, std::int64_t i) {
        cpu::Tile<T, rows(), vectors()> tile;
        T *const total = ends.total + i * n + j, *const open = ends.open + i * n + j;
        if (ends.continues) tile.template load<masked()>(open, n, columns);
        else tile.clear();
        if (pack) tile.template run<false>(a + i * a_row, a_row, a_step, panel, cpu::Static<width>{}, k, columns);
        else tile.template run<masked()>(a + i * a_row, a_row, a_step, b + j, b_row, k, columns);
        if (ends.closes) tile.template close<masked()>(total, n, columns, ends.first);
        else tile.template store<masked()>(open, n, columns);
      });
    });
  }
}

}  // namespace gradual::eager
