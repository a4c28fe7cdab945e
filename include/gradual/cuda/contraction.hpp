#pragma once
#include <gradual/core/block_pieces.hpp>
#include <gradual/core/math/fma.hpp>
#include <gradual/cuda/blocks_of_step.hpp>
#include <gradual/cuda/operands.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// C[i, j] = Σₗ A(i, l)·B(l, j) for each of a stack of matrices, or its part of a window where l runs over the batch.
/// W: what closed blocks are added to; C: what results are kept as, which are rounded once.
template <class T, class A, class B, class W = T, class C = W>
struct Contraction {
  A a;  ///< by row and step
  B b;  ///< by column and step
  C* c;
  T* chain;                     ///< the unfinished block of a window; null where there is none
  std::int64_t m, n, k, stack;  ///< where `over` is the batch's extent, for each sample
  static constexpr bool wide = sizeof(T) > 4 || sizeof(W) > 4;  ///< in chains or sums
  static constexpr bool convolves = requires(A of) { of.c; };    ///< images
  enum class Over : unsigned char { none, rows, stack, depth } over;  ///< which extent is multiplied by the batch
};

/// A tile of `Rows` × `Columns` outputs, of which each thread keeps `Each` × `Each` in registers: chains and totals.
template <int Rows, int Columns, int Each>
struct ContractionTile {
  static constexpr int rows = Rows, columns = Columns, each = Each, depth = 16;
  static constexpr int threads = Rows / Each * (Columns / Each);
  static constexpr int blocks = Each >= 8 ? 1 : 2;  ///< at once on a multiprocessor, as registers allow
  static_assert(threads % warp_size == 0);
  template <class T>
  struct alignas(16) Shared {  // so that a thread reads four neighbours at once
    T a[depth][rows + 4], b[depth][columns + 4];
  };
};

namespace detail {

/// Copies tile[l][i] = source(matrix, first_i + i, first_l + l) for l < depth, i < extent; what lies outside is not read.
/// Threads that are neighbours read neighbours.
template <int Extent, int Depth, int Threads, class T, class Source>
GRADUAL_DEVICE void load_tile(T (*tile)[Extent + 4], const Source& source, std::int64_t matrix, std::int64_t first_i,
                              std::int64_t end_i, std::int64_t first_l, std::int64_t end_l) {
  const bool along_l = source.along_depth();
  for (int at = thread_index(); at < Extent * Depth; at += Threads) {
    const int i = along_l ? at / Depth : at % Extent, l = along_l ? at % Depth : at / Extent;
    if (first_i + i < end_i && first_l + l < end_l) tile[l][i] = source(matrix, first_i + i, first_l + l);
  }
}

/// How many of `Each` outputs lie inside where `left` do.
template <int Each>
GRADUAL_DEVICE int inside(std::int64_t left) {
  return left < 0 ? 0 : left < Each ? static_cast<int>(left) : Each;
}

/// f(i, j) for all outputs of a thread, as constants: only so do arrays of them live in registers.
template <int Each, class F>
GRADUAL_DEVICE void for_outputs(F f) {
  GRADUAL_UNROLL(8)
  for (int i = 0; i < Each; ++i) {
    GRADUAL_UNROLL(8)
    for (int j = 0; j < Each; ++j) f(i, j);
  }
}

/// chain += Σ over `depth` steps of the tile, in their order.
template <class Tile, class T>
GRADUAL_DEVICE void multiply_tile(const T (*a)[Tile::rows + 4], const T (*b)[Tile::columns + 4], int depth, int row,
                                  int column, T (&chain)[Tile::each][Tile::each]) {
  for (int l = 0; l < depth; ++l) {
    T x[Tile::each], y[Tile::each];
    GRADUAL_UNROLL(8)
    for (int i = 0; i < Tile::each; ++i) x[i] = a[l][row + i], y[i] = b[l][column + i];
    for_outputs<Tile::each>([&](int i, int j) { chain[i][j] = math::fma(x[i], y[j], chain[i][j]); });
  }
}

struct Span {
  std::int64_t begin, end;
};

/// chain += Σ over steps `l`, in their order, of the tile of rows `i` and columns `j`; all threads of the block.
template <class Tile, class T, class Product>
GRADUAL_DEVICE void multiply_steps(const Product& p, T (*a)[Tile::rows + 4], T (*b)[Tile::columns + 4],
                                   std::int64_t matrix, Span i, Span j, Span l, int row, int column,
                                   T (&chain)[Tile::each][Tile::each]) {
  for (; l.begin < l.end; l.begin += Tile::depth) {
    load_tile<Tile::rows, Tile::depth, Tile::threads>(a, p.a, matrix, i.begin, i.end, l.begin, l.end);
    load_tile<Tile::columns, Tile::depth, Tile::threads>(b, p.b, matrix, j.begin, j.end, l.begin, l.end);
    barrier();
    const std::int64_t left = l.end - l.begin;
    if (left >= Tile::depth) multiply_tile<Tile>(a, b, Tile::depth, row, column, chain);
    else multiply_tile<Tile>(a, b, static_cast<int>(left), row, column, chain);
    barrier();
  }
}

}  // namespace detail

/// All matrix products: each block of `canonical_block` steps is a chain from +0, added to the total in their order. A
/// product is a window of one sample whose positions are its k.
template <class Tile, class T, class A, class B, class W, class C>
GRADUAL_DEVICE void contract(const Contraction<T, A, B, W, C>& p, const Step& step,
                             typename Tile::template Shared<T>& shared) {
  using Over = typename Contraction<T, A, B, W, C>::Over;
  const bool window = p.over == Over::depth;
  const std::int64_t m = p.m * (p.over == Over::rows ? step.batch : 1);
  const std::int64_t stack = p.stack * (p.over == Over::stack ? step.batch : 1);
  const std::int64_t begin = window ? step.begin * p.k : 0, end = begin + p.k * (window ? step.batch : 1);
  const bool starts = !window || step.first, ends = !window || step.last;
  const std::int64_t across = (p.n + Tile::columns - 1) / Tile::columns, down = (m + Tile::rows - 1) / Tile::rows;
  const int row = thread_index() / (Tile::columns / Tile::each) * Tile::each;
  const int column = thread_index() % (Tile::columns / Tile::each) * Tile::each;

  for (std::int64_t t = block_index(); t < across * down * stack; t += block_count()) {
    const std::int64_t matrix = t / (across * down), i0 = t / across % down * Tile::rows, j0 = t % across * Tile::columns;
    const std::int64_t output = (matrix * m + i0 + row) * p.n + j0 + column;
    const int rows = detail::inside<Tile::each>(m - i0 - row), columns = detail::inside<Tile::each>(p.n - j0 - column);
    W total[Tile::each][Tile::each];
    T chain[Tile::each][Tile::each];
    detail::for_outputs<Tile::each>([&](int i, int j) {
      const bool read = i < rows && j < columns;
      total[i][j] = read && !starts ? static_cast<W>(p.c[output + i * p.n + j]) : W{};
      chain[i][j] = read && window && p.chain != nullptr ? p.chain[output + i * p.n + j] : T(0);
    });
    for (const BlockPiece& piece : BlockPieces(begin, end, p.k, ends)) {
      if (piece.begins) detail::for_outputs<Tile::each>([&](int i, int j) { chain[i][j] = 0; });
      detail::multiply_steps<Tile>(p, shared.a, shared.b, matrix, {i0, m}, {j0, p.n},
                                   {piece.begin - begin, piece.end - begin}, row, column, chain);
      if (piece.closes) detail::for_outputs<Tile::each>([&](int i, int j) { total[i][j] += chain[i][j]; });
    }
    detail::for_outputs<Tile::each>([&](int i, int j) {
      if (i >= rows || j >= columns) return;
      p.c[output + i * p.n + j] = static_cast<C>(total[i][j]);
      if (window && p.chain != nullptr) p.chain[output + i * p.n + j] = chain[i][j];
    });
  }
}

/// The one kernel of matrix products.
template <class Tile, class T, class A, class B, class W, class C>
GRADUAL_KERNEL_OF(Tile::threads, Tile::blocks) void contraction_kernel(Contraction<T, A, B, W, C> p, const Step* step) {
  GRADUAL_SHARED typename Tile::template Shared<T> shared;
  if (!step->skipped) contract<Tile>(p, *step, shared);
}

/// A product over samples in two steps, where its result is too small for a GPU. First the chain of each block in which the
/// micro-batch lies, side by side, into `chains`, block by block.
template <class Tile, class T, class A, class B, class W>
GRADUAL_KERNEL_OF(Tile::threads, Tile::blocks) void contraction_blocks_kernel(Contraction<T, A, B, W> p, T* chains,
                                                                             const Step* step) {
  if (step->skipped) return;
  GRADUAL_SHARED typename Tile::template Shared<T> shared;
  const BlocksOfStep blocks(*step, p.k);
  const std::int64_t across = (p.n + Tile::columns - 1) / Tile::columns, down = (p.m + Tile::rows - 1) / Tile::rows;
  const int row = thread_index() / (Tile::columns / Tile::each) * Tile::each;
  const int column = thread_index() % (Tile::columns / Tile::each) * Tile::each;
  const std::int64_t outputs = p.stack * p.m * p.n;
  for (std::int64_t t = block_index(); t < across * down * p.stack * blocks.count; t += block_count()) {
    const std::int64_t i0 = t / across % down * Tile::rows, j0 = t % across * Tile::columns;
    const std::int64_t matrix = t / (across * down) % p.stack, number = t / (across * down * p.stack);
    const BlocksOfStep::Rows l = blocks.rows(number);
    const std::int64_t output = (matrix * p.m + i0 + row) * p.n + j0 + column;
    const int rows = detail::inside<Tile::each>(p.m - i0 - row), columns = detail::inside<Tile::each>(p.n - j0 - column);
    T chain[Tile::each][Tile::each];
    detail::for_outputs<Tile::each>([&](int i, int j) {
      chain[i][j] = i < rows && j < columns && l.goes_on ? p.chain[output + i * p.n + j] : T(0);
    });
    detail::multiply_steps<Tile>(p, shared.a, shared.b, matrix, {i0, p.m}, {j0, p.n}, {l.begin, l.end}, row, column, chain);
    detail::for_outputs<Tile::each>([&](int i, int j) {
      if (i < rows && j < columns) chains[number * outputs + output + i * p.n + j] = chain[i][j];
    });
  }
}

/// Then those of closed blocks are added to the totals in their order: a thread for each of `outputs`. `open`: where an
/// unfinished one is kept, or null.
template <class T, class W>
GRADUAL_KERNEL void contraction_totals_kernel(W* totals, T* open, const T* chains, std::int64_t outputs,
                                              std::int64_t positions, const Step* step) {
  if (step->skipped) return;
  const BlocksOfStep blocks(*step, positions);
  for (std::int64_t i = global_thread(); i < outputs; i += global_threads()) {
    W total = step->first ? W{} : totals[i];
    blocks.add_closed<T>(total, chains + i, outputs);
    totals[i] = total;
    if (open != nullptr) open[i] = chains[(blocks.count - 1) * outputs + i];
  }
}

}  // namespace gradual::cuda
