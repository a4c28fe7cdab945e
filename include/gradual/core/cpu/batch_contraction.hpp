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

/// Columns of A that are copied together where its rows alias.
inline constexpr std::int64_t chunk_columns = 8 * 12;

/// Elements of workspace that `batch_contraction` needs.
template <class T, std::int64_t I, std::int64_t J>
constexpr std::int64_t batch_contraction_workspace() {
  return (packs<T>(canonical_block, J) ? panel_elements<T> : 0) + (aliases<T>(I) ? canonical_block * chunk_columns : 0);
}

/// total[I×J] += Σ over positions s of a[s]ᵀ·g[s], in canonical order with P positions per sample: a is count×I,
/// g is count×J, row-major. However a window is cut into parts, the bits are the same.
template <class T, std::int64_t I, std::int64_t J, std::int64_t P>
void batch_contraction(const T* a, const T* g, const WindowPart<T>& part, T* workspace) {
  constexpr bool pack_a = aliases<T>(I), pack_g = packs<T>(canonical_block, J);
  T* const panel = workspace;
  T* const chunk = workspace + (pack_g ? panel_elements<T> : 0);
  constexpr std::int64_t most = pack_a ? chunk_columns : I;
  using Step = Static<pack_a ? chunk_columns : I>;
  const std::int64_t end = part.begin + part.count;
  bool fresh = part.first;  // no block has been added to total yet
  for (std::int64_t at = part.begin; at < end;) {
    const std::int64_t block = block_end(at, P), stop = block < end ? block : end, k = stop - at;
    const bool continues = block_begin(at, P) != at, closes = stop == block || part.last;
    const T *a_rows = a + (at - part.begin) * I, *g_rows = g + (at - part.begin) * J;
    for (std::int64_t begin = 0; begin < I; begin += most) {
      const std::int64_t columns_here = I - begin < most ? I - begin : most;
      const T* from = a_rows + begin;
      if constexpr (pack_a) {
        for (std::int64_t l = 0; l < k; ++l)
          for (std::int64_t i = 0; i < columns_here; ++i) chunk[l * most + i] = a_rows[l * I + begin + i];
        from = chunk;
      }
      for_panels<T, J>([&](auto vectors, auto masked, std::int64_t j, std::int64_t columns) {
        if constexpr (pack_g) pack_rows(g_rows + j, Static<J>{}, k, columns, panel);
        for_row_tiles(columns_here, [&](auto rows, std::int64_t i) {
          Tile<T, rows(), vectors()> tile;
          T* const total = part.total + (begin + i) * J + j;
          T* const open = part.open + (begin + i) * J + j;
          if constexpr (I * J * static_cast<std::int64_t>(sizeof(T)) > 512 * 1024) tile.prefetch(closes ? total : open, J);
          if (continues) tile.template load<masked()>(open, J, columns);
          else tile.clear();
          if constexpr (pack_g)
            tile.template run<false>(from + i, Static<1>{}, Step{}, panel, Static<panel_columns<T>>{}, k, columns);
          else
            tile.template run<masked()>(from + i, Static<1>{}, Step{}, g_rows + j, Static<J>{}, k, columns);
          if (closes) tile.template close<masked()>(total, J, columns, fresh);
          else tile.template store<masked()>(open, J, columns);
        });
      });
    }
    fresh = fresh && !closes;
    at = stop;
  }
  if (fresh && part.count > 0)
    for (std::int64_t i = 0; i < I * J; ++i) part.total[i] = T(0);
}

}  // namespace gradual::cpu
