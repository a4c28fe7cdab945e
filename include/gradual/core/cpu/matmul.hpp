#pragma once
#include <gradual/core/cpu/pack.hpp>

namespace gradual::cpu {

/// Whether a block of `rows` rows that lie `stride` elements apart is copied together before it is read again and
/// again: far-apart rows share few sets of the first-level cache.
template <class T>
constexpr bool packs(std::int64_t rows, std::int64_t stride) {
  return stride * static_cast<std::int64_t>(sizeof(T)) >= 512 && rows > 64;
}
/// Whether rows `stride` elements apart share so few sets that even one tile's rows push each other out.
template <class T>
constexpr bool aliases(std::int64_t stride) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(T));
  return bytes >= 2048 && bytes % 1024 == 0;
}

/// Rows of A that are copied together, and their distance there.
inline constexpr std::int64_t chunk_rows = 22 * 12, chunk_stride = canonical_block + 16;

template <class T>
GRADUAL_INLINE void prefetch_row(const T* row) {
  for (int v = 0; v < 2; ++v) __builtin_prefetch(row + v * Vec<T>::width, 0, 2);
}

/// Elements of workspace that `matmul` needs.
template <class T, bool TransA, bool TransB, std::int64_t N, std::int64_t K>
constexpr std::int64_t matmul_workspace() {
  const std::int64_t panel = TransB || packs<T>(K, N) ? (K < canonical_block ? K : canonical_block) * panel_columns<T> : 0;
  return panel + (!TransA && aliases<T>(K) ? chunk_rows * chunk_stride : 0);
}

/// C[m×N] = op(A)·op(B) in canonical order, all row-major: A is m×K (K×m where TransA), B is K×N (N×K where TransB).
template <class T, bool TransA, bool TransB, std::int64_t N, std::int64_t K>
void matmul(const T* a, const T* b, T* c, std::int64_t m, T* workspace) {
  if constexpr (K == 0) {
    for (std::int64_t i = 0; i < m * N; ++i) c[i] = T(0);
  } else {
    constexpr bool pack_a = !TransA && aliases<T>(K), pack_b = TransB || packs<T>(K, N);
    T* const panel = workspace;
    T* const chunk = workspace + (pack_b ? (K < canonical_block ? K : canonical_block) * panel_columns<T> : 0);
    const auto a_row = [&] {
      if constexpr (pack_a) return Static<chunk_stride>{};
      else if constexpr (TransA) return Static<1>{};
      else return Static<K>{};
    }();
    const auto a_step = [&] {
      if constexpr (TransA) return m;
      else return Static<1>{};
    }();
    const std::int64_t most = pack_a ? chunk_rows : m;
    for (std::int64_t begin = 0; begin < m; begin += most) {
      const std::int64_t rows_here = m - begin < most ? m - begin : most;
      for (std::int64_t block = 0; block < K; block += canonical_block) {
        const std::int64_t k = K - block < canonical_block ? K - block : canonical_block;
        const T* a_block = a + begin * a_row + block * a_step;
        if constexpr (pack_a) {
          for (std::int64_t i = 0; i < rows_here; ++i)
            for (std::int64_t l = 0; l < k; ++l) chunk[i * chunk_stride + l] = a[(begin + i) * K + block + l];
          a_block = chunk;
        }
        for_panels<T, N>([&](auto vectors, auto masked, std::int64_t j, std::int64_t columns) {
          if constexpr (TransB) pack_columns(b + j * K + block, Static<K>{}, k, columns, panel);
          else if constexpr (pack_b) pack_rows(b + block * N + j, Static<N>{}, k, columns, panel);
          for_row_tiles(rows_here, [&](auto rows, std::int64_t i) {
            Tile<T, rows(), vectors()> tile;
            tile.clear();
            const T* from = a_block + i * a_row;
            if constexpr (pack_b && !TransB)  // ask for the next panel's rows while this one is at work
              for (std::int64_t l = i; l < i + rows && l < k; ++l) prefetch_row<T>(b + (block + l) * N + j + columns);
            if constexpr (pack_b)
              tile.template run<false>(from, a_row, a_step, panel, Static<panel_columns<T>>{}, k, columns);
            else
              tile.template run<masked()>(from, a_row, a_step, b + block * N + j, Static<N>{}, k, columns);
            tile.template close<masked()>(c + (begin + i) * N + j, N, columns, block == 0);
          });
        });
      }
    }
  }
}

}  // namespace gradual::cpu
