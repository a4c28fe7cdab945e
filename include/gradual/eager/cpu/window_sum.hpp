#pragma once
#include <gradual/eager/cpu/block_product.hpp>

namespace gradual::eager {

/// A sum over the positions of a window that parts of the window are added to: closed blocks in `total`, which begins
/// as zeros, and the chains of the unfinished block in `open`, which may be null where no part ends inside a block.
template <class T>
struct WindowSum {
  T *total, *open;
  std::int64_t elements;
  std::int64_t* open_end;  ///< the position where the unfinished block ends; 0: there is none

  /// Calls run(first position of a piece, relative to the part; positions; continues; closes) for the pieces of blocks
  /// that make up positions [begin, begin + count), `per_sample` of them in each sample.
  template <class F>
  void add(std::int64_t begin, std::int64_t count, std::int64_t per_sample, F run) {
    const std::int64_t end = begin + count;
    for (std::int64_t at = begin; at < end;) {
      if (at >= *open_end) close();
      const std::int64_t block = block_end(at, per_sample), stop = block < end ? block : end;
      run(at - begin, stop - at, *open_end != 0, stop == block);
      *open_end = stop == block ? 0 : block;
      at = stop;
    }
  }

  /// Adds the unfinished block to the total.
  void close() {
    if (*open_end != 0)
      for (std::int64_t i = 0; i < elements; ++i) total[i] += open[i];
    *open_end = 0;
  }
};

/// sum[I×J] += Σ over positions s of a[s]ᵀ·g[s]: a is count×I, g is count×J.
template <class T>
void add_contraction(WindowSum<T> sum, const T* a, const T* g, std::int64_t rows, std::int64_t columns,
                     std::int64_t begin, std::int64_t count, std::int64_t per_sample, T* panel) {
  sum.add(begin, count, per_sample, [&](std::int64_t at, std::int64_t k, bool continues, bool closes) {
    block_product(a + at * rows, cpu::Static<1>{}, rows, g + at * columns, columns, false, rows, columns, k,
                  BlockEnds<T>{sum.total, sum.open == nullptr ? sum.total : sum.open, continues, closes, false}, panel);
  });
}

/// sum[columns] += Σ over positions s of x[s]: x is count×columns.
template <class T>
void add_rows(WindowSum<T> sum, const T* x, std::int64_t begin, std::int64_t count, std::int64_t per_sample, T* chains) {
  constexpr std::int64_t most = canonical_block;  // chains at a time, in first-level cache
  const std::int64_t columns = sum.elements;
  sum.add(begin, count, per_sample, [&](std::int64_t at, std::int64_t k, bool continues, bool closes) {
    for (std::int64_t j = 0; j < columns; j += most) {
      const std::int64_t width = columns - j < most ? columns - j : most;
      for (std::int64_t c = 0; c < width; ++c) chains[c] = continues ? sum.open[j + c] : T(0);
      for (std::int64_t r = at; r < at + k; ++r) {
        const T* row = x + r * columns + j;
        GRADUAL_IVDEP
        for (std::int64_t c = 0; c < width; ++c) chains[c] += row[c];
      }
      if (closes)
        for (std::int64_t c = 0; c < width; ++c) sum.total[j + c] += chains[c];
      else
        for (std::int64_t c = 0; c < width; ++c) sum.open[j + c] = chains[c];
    }
  });
}

}  // namespace gradual::eager
