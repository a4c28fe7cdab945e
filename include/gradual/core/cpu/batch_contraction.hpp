#pragma once
#include <gradual/core/cpu/matmul.hpp>

namespace gradual::cpu {

/// What one micro-batch adds to a contraction over the positions of a window.
template <class T>
struct WindowPart {
  T* total;            ///< sums of closed blocks
  T* open;             ///< the chain of the unfinished block; may be null where parts begin and end on blocks
  std::int64_t begin;  ///< first position, counted from the window's beginning
  std::int64_t count;  ///< positions
  bool first, last;    ///< whether the window begins and ends here: totals start from +0; the open block closes
};

/// total[I×J] += Σ over positions s of a[s]ᵀ·g[s], in canonical order with P positions per sample: a is count×I,
/// g is count×J, row-major. However a window is cut into parts, the bits are the same. `workspace`: panel_elements<T>.
template <class T, std::int64_t I, std::int64_t J, std::int64_t P>
void batch_contraction(const T* a, const T* g, const WindowPart<T>& part, T* workspace) {
  const std::int64_t end = part.begin + part.count;
  bool fresh = part.first;  // no block has been added to total yet
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t block = block_end(at, P), stop = block < end ? block : end, k = stop - at;
    const bool continues = block_begin(at, P) != at, closes = stop == block || part.last;
    const T *a_rows = a + (at - part.begin) * I, *g_rows = g + (at - part.begin) * J;
    for_panels<T, J>([&](auto vectors, auto masked, std::int64_t j, std::int64_t columns) {
      constexpr bool pack = packs<T>(canonical_block, J);
      if constexpr (pack) pack_rows(g_rows + j, Static<J>{}, k, columns, workspace);
      for_row_tiles(I, [&](auto rows, std::int64_t i) {
        Tile<T, rows(), vectors()> tile;
        if (continues) tile.template load<masked()>(part.open + i * J + j, J, columns);
        else tile.clear();
        if constexpr (pack)
          tile.template run<false>(a_rows + i, Static<1>{}, Static<I>{}, workspace, Static<panel_columns<T>>{}, k, columns);
        else
          tile.template run<masked()>(a_rows + i, Static<1>{}, Static<I>{}, g_rows + j, Static<J>{}, k, columns);
        if (closes) tile.template close<masked()>(part.total + i * J + j, J, columns, fresh);
        else tile.template store<masked()>(part.open + i * J + j, J, columns);
      });
    });
    fresh = fresh && !closes;
    at = stop;
  }
  if (fresh && part.count > 0)
    for (std::int64_t i = 0; i < I * J; ++i) part.total[i] = T(0);
}

}  // namespace gradual::cpu
