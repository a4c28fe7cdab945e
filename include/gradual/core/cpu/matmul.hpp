#pragma once
#include <gradual/core/cpu/pack.hpp>

namespace gradual::cpu {

/// Whether a block of `rows` rows that lie `stride` elements apart is copied together before it is read again and
/// again: far-apart rows share few sets of the first-level cache.
template <class T>
constexpr bool packs(std::int64_t rows, std::int64_t stride) {
  return stride * static_cast<std::int64_t>(sizeof(T)) >= 512 && rows > 64;
}

/// C[m×N] = op(A)·op(B) in canonical order, all row-major: A is m×K (K×m where TransA), B is K×N (N×K where TransB).
/// `workspace`: panel_elements<T>.
template <class T, bool TransA, bool TransB, std::int64_t N, std::int64_t K>
void matmul(const T* a, const T* b, T* c, std::int64_t m, T* workspace) {
  if constexpr (K == 0) {
    for (std::int64_t i = 0; i < m * N; ++i) c[i] = T(0);
  } else {
    const auto a_row = [&] {
      if constexpr (TransA) return Static<1>{};
      else return Static<K>{};
    }();
    const auto a_step = [&] {
      if constexpr (TransA) return m;
      else return Static<1>{};
    }();
    for_panels<T, N>([&](auto vectors, auto masked, std::int64_t j, std::int64_t columns) {
      for (std::int64_t block = 0; block < K; block += canonical_block) {
        const std::int64_t k = K - block < canonical_block ? K - block : canonical_block;
        constexpr bool pack = TransB || packs<T>(K, N);
        if constexpr (TransB) pack_columns(b + j * K + block, Static<K>{}, k, columns, workspace);
        else if constexpr (pack) pack_rows(b + block * N + j, Static<N>{}, k, columns, workspace);
        for_row_tiles(m, [&](auto rows, std::int64_t i) {
          Tile<T, rows(), vectors()> tile;
          tile.clear();
          const T* from = a + i * a_row + block * a_step;
          if constexpr (pack)
            tile.template run<false>(from, a_row, a_step, workspace, Static<panel_columns<T>>{}, k, columns);
          else
            tile.template run<masked()>(from, a_row, a_step, b + block * N + j, Static<N>{}, k, columns);
          tile.template close<masked()>(c + i * N + j, N, columns, block == 0);
        });
      }
    });
  }
}

}  // namespace gradual::cpu
