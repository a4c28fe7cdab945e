#pragma once
#include <cstddef>

#include <gradual/core/math/fma.hpp>
#include <gradual/cuda/blocks_of_step.hpp>
#include <gradual/cuda/operands.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// C[i, j] = Σₗ A(i, l)·B(l, j) for each of a stack of matrices, or a micro-batch's part of a window where l runs over the
/// batch. W: the type of totals, to which closed blocks are added; C: the type of stored results, which are rounded once.
template <class T, class A, class B, class W = T, class C = W>
struct Contraction {
  A a;  ///< by row and step
  B b;  ///< by column and step
  C* c;
  T* chain;                     ///< the unfinished block of a window; null where there is none
  std::int64_t m, n, k, stack;  ///< the extent that `over` names is that of one sample
  static constexpr bool wide = sizeof(T) > 4 || sizeof(W) > 4;  ///< in chains or sums
  static constexpr bool convolves = requires(A of) { of.form; };    ///< images
  /// Whether its type tells how many rows and columns results have, like that of a convolution in a compiled program.
  static constexpr bool sized = requires { decltype(A::form)::get(); };
  static constexpr std::int64_t rows() requires sized { return A{}.extent(); }
  static constexpr std::int64_t columns() requires sized { return B{}.extent(); }
  enum class Over : unsigned char { none, rows, stack, depth } over;  ///< which extent is multiplied by the batch
};

/// A tile of `Rows` × `Columns` outputs, of which each thread keeps `Each` × `Each` in registers: chains and totals.
template <int Rows, int Columns, int Each>
struct ContractionTile {
  static constexpr int rows = Rows, columns = Columns, each = Each;
  static constexpr int depth = Rows + Columns > 64 ? 16 : 32;  ///< steps of a slab; more for small tiles, to wait less often
  static constexpr int threads = Rows / Each * (Columns / Each);
  /// Returns how many blocks a multiprocessor runs at once: registers hold `bytes` per chain and total, and places in images.
  static constexpr int blocks(std::size_t bytes, bool convolves) {
    const std::size_t kept = Each * Each * bytes / 4;
    return kept >= 64 ? 1 : kept > 8 || convolves ? 2 : 3;
  }
  template <class T>
  struct alignas(16) Slab {  // so that a thread reads four neighbours at once
    T a[depth][rows + 4], b[depth][columns + 4];
  };
  template <class T>
  struct Shared {
    Slab<T> slabs[2];  ///< one is written while the other is multiplied
  };

  // Along each side a thread's outputs are groups of neighbours, with those of all other threads in between. A warp is 4 × 8
  // threads: when eight of them read shared memory at once, they access each of its banks once, or all one place.
  static constexpr int group = Each < 4 ? Each : 4, across = Columns / Each;
  static constexpr int lanes_across = across < 8 ? across : 8, warps_across = across / lanes_across;
  static_assert(across % lanes_across == 0 && Rows / Each % (warp_size / lanes_across) == 0);
  GRADUAL_HD static constexpr int row(int i) { return i / group * (Rows / Each * group) + i % group; }
  GRADUAL_HD static constexpr int column(int j) { return j / group * (across * group) + j % group; }
  GRADUAL_DEVICE static int first_row() {
    const int warp = thread_index() / warp_size, lane = thread_index() % warp_size;
    return (warp / warps_across * (warp_size / lanes_across) + lane / lanes_across) * group;
  }
  GRADUAL_DEVICE static int first_column() {
    const int warp = thread_index() / warp_size, lane = thread_index() % warp_size;
    return (warp % warps_across * lanes_across + lane % lanes_across) * group;
  }
};

namespace detail {

/// A range of rows, columns or steps, `most` at most.
struct Span {
  std::int64_t begin;
  int count;
  GRADUAL_DEVICE Span(std::int64_t first, std::int64_t end, int most)
      : begin(first), count(end - first < most ? static_cast<int>(end - first) : most) {}
};

/// A slab of one operand on its way to shared memory: the fours of neighbours that one thread carries.
template <class Tile, int Extent, class E>
class CarriedSlab {
  using Four = Neighbours<E, 4>;
  static constexpr int fours = Extent * Tile::depth / 4, each = (fours + Tile::threads - 1) / Tile::threads;

 public:
  /// Reads elements (i, l) from memory; `outside` fills up the slab.
  template <class Source>
  GRADUAL_DEVICE void read(const Source& source, std::int64_t matrix, Span i, Span l, E outside) {
    const bool along_l = source.along_depth();
    GRADUAL_UNROLL(8)
    for (int n = 0; n < each; ++n) {
      const Place place(n, along_l);
      if (!place.exists) continue;
      const std::int64_t at_i = i.begin + place.i, at_l = l.begin + place.l;
      const int rows = i.count - place.i, steps = l.count - place.l;
      const int inside = rows <= 0 || steps <= 0 ? 0 : along_l ? steps : rows;
      if constexpr (requires { source.four(matrix, at_i, at_l, inside, outside); }) {
        fours_[n] = source.four(matrix, at_i, at_l, inside, outside);
      } else {
        GRADUAL_UNROLL(4)
        for (int e = 0; e < 4; ++e)
          fours_[n].at[e] = e < inside ? source(matrix, along_l ? at_i : at_i + e, along_l ? at_l + e : at_l) : outside;
      }
    }
  }
  /// slab[l][i] = element (i, l).
  template <class T>
  GRADUAL_DEVICE void write(T (*slab)[Extent + 4], bool along_l) const {
    if (along_l) put([&](const Place& p, int e, T x) { slab[p.l + e][p.i] = x; }, true);
    else put([&](const Place& p, int e, T x) { slab[p.l][p.i + e] = x; }, false);
  }

 private:
  /// The place of the first element of a thread's n-th four; neighbouring threads take neighbouring fours.
  struct Place {
    int i, l;
    bool exists;
    GRADUAL_DEVICE Place(int n, bool along_l) {
      const int at = thread_index() + n * Tile::threads;
      exists = fours % Tile::threads == 0 || at < fours;
      i = along_l ? at / (Tile::depth / 4) : at % (Extent / 4) * 4;
      l = along_l ? at % (Tile::depth / 4) * 4 : at / (Extent / 4);
    }
  };
  template <class F>
  GRADUAL_DEVICE void put(F f, bool along_l) const {
    GRADUAL_UNROLL(8)
    for (int n = 0; n < each; ++n) {
      const Place place(n, along_l);
      if (!place.exists) continue;
      GRADUAL_UNROLL(4)
      for (int e = 0; e < 4; ++e) f(place, e, static_cast<Computed<E>>(fours_[n].at[e]));
    }
  }

  Four fours_[each];
};

/// Calls f(i, j) for all outputs of a thread, unrolled into constants: only then are arrays of outputs kept in registers.
template <int Each, class F>
GRADUAL_DEVICE void for_outputs(F f) {
  GRADUAL_UNROLL(8)
  for (int i = 0; i < Each; ++i) {
    GRADUAL_UNROLL(8)
    for (int j = 0; j < Each; ++j) f(i, j);
  }
}

/// chain += Σ over `steps` steps of a slab, and those up to the next multiple of `at_once`, in order.
template <class Tile, class T>
GRADUAL_DEVICE void multiply_slab(const typename Tile::template Slab<T>& slab, int steps,
                                  T (&chain)[Tile::each][Tile::each]) {
  constexpr int at_once = 8;
  const int row = Tile::first_row(), column = Tile::first_column();
  GRADUAL_UNROLL(1)
  for (int first = 0; first < steps; first += at_once) {
    GRADUAL_UNROLL(8)
    for (int l = first; l < first + at_once; ++l) {
      T x[Tile::each], y[Tile::each];
      GRADUAL_UNROLL(8)
      for (int i = 0; i < Tile::each; ++i) x[i] = slab.a[l][row + Tile::row(i)], y[i] = slab.b[l][column + Tile::column(i)];
      for_outputs<Tile::each>([&](int i, int j) { chain[i][j] = math::fma(x[i], y[j], chain[i][j]); });
    }
  }
}

/// One tile of a stack of m × n results, and this thread's outputs of it.
template <class Tile>
class TileOfResults {
 public:
  std::int64_t matrix;
  Span rows, columns;

  GRADUAL_HD static constexpr std::int64_t across(std::int64_t n) { return (n + Tile::columns - 1) / Tile::columns; }
  GRADUAL_HD static constexpr std::int64_t down(std::int64_t m) { return (m + Tile::rows - 1) / Tile::rows; }

  GRADUAL_DEVICE TileOfResults(std::int64_t number, std::int64_t m, std::int64_t n)
      : TileOfResults(number / across(n) / down(m), number / across(n) % down(m) * Tile::rows,
                      number % across(n) * Tile::columns, m, n) {}

  GRADUAL_DEVICE bool has(int i, int j) const { return Tile::row(i) < has_rows_ && Tile::column(j) < has_columns_; }
  GRADUAL_DEVICE std::int64_t place(int i, int j) const { return first_ + Tile::row(i) * n_ + Tile::column(j); }

  /// Writes a thread's outputs to their places in `results`.
  template <class C, class X>
  GRADUAL_DEVICE void write(C* results, const X (&outputs)[Tile::each][Tile::each]) const {
    constexpr int group = Tile::group;
    using Group = Neighbours<C, group>;
    if (n_ % group == 0 && Group::may_lie(results)) {
      for_outputs<Tile::each>([&](int i, int j) {
        if (j % group != 0 || !has(i, j)) return;
        Group those;
        GRADUAL_UNROLL(4)
        for (int e = 0; e < group; ++e) those.at[e] = static_cast<C>(outputs[i][j + e]);
        reinterpret_cast<Group*>(results)[place(i, j) / group] = those;
      });
    } else {
      for_outputs<Tile::each>([&](int i, int j) {
        if (has(i, j)) results[place(i, j)] = static_cast<C>(outputs[i][j]);
      });
    }
  }

 private:
  GRADUAL_DEVICE TileOfResults(std::int64_t of, std::int64_t row, std::int64_t column, std::int64_t m, std::int64_t n)
      : matrix(of),
        rows(row, m, Tile::rows),
        columns(column, n, Tile::columns),
        n_(n),
        first_((of * m + row + Tile::first_row()) * n + column + Tile::first_column()),
        has_rows_(rows.count - Tile::first_row()),
        has_columns_(columns.count - Tile::first_column()) {}

  std::int64_t n_, first_;
  int has_rows_, has_columns_;
};

/// The products of a block of threads, tile after tile.
template <class Tile, class T, class Product>
class TileProducts {
 public:
  GRADUAL_DEVICE TileProducts(const Product& p, typename Tile::template Shared<T>& shared) : p_(p), shared_(shared) {}

  /// For each of `parts` of the steps: before(part), chain += Σ over its steps in order, after(part). While one part is
  /// multiplied, the next one is read. All threads of the block must call it.
  template <class Before, class After>
  GRADUAL_DEVICE void add(T (&chain)[Tile::each][Tile::each], const TileOfResults<Tile>& tile, BlockParts<Tile::depth> parts,
                          Before before, After after) {
    using A = typename decltype(Product::a)::Element;
    using B = typename decltype(Product::b)::Element;
    CarriedSlab<Tile, Tile::rows, A> a;
    CarriedSlab<Tile, Tile::columns, B> b;
    for (BlockPiece now{};; ++parts) {
      const BlockPiece next = *parts;
      const bool goes_on = parts.any();
      if (goes_on) {
        const Span steps(next.begin, next.end, Tile::depth);
        a.read(p_.a, tile.matrix, tile.rows, steps, A(-0.f));  // adding -0 · +0 changes no chain, not even -0
        b.read(p_.b, tile.matrix, tile.columns, steps, B(0.f));
      }
      if (now.count() > 0) {
        before(now);
        multiply_slab<Tile>(shared_.slabs[turn_], static_cast<int>(now.count()), chain);
        after(now);
      }
      if (!goes_on) return;
      turn_ ^= 1;  // no thread has read that one since the last barrier
      a.write(shared_.slabs[turn_].a, p_.a.along_depth());
      b.write(shared_.slabs[turn_].b, p_.b.along_depth());
      barrier();
      now = next;
    }
  }

 private:
  const Product& p_;
  typename Tile::template Shared<T>& shared_;
  int turn_ = 0;
};

}  // namespace detail

/// Computes any matrix product: each block of `canonical_block` steps is a chain from +0, and chains are added to the total in
/// order. A plain product is a window of one sample whose positions are its k.
template <class Tile, class T, class A, class B, class W, class C>
GRADUAL_DEVICE void contract(const Contraction<T, A, B, W, C>& p, const Step& step,
                             typename Tile::template Shared<T>& shared) {
  using Over = typename Contraction<T, A, B, W, C>::Over;
  using Results = detail::TileOfResults<Tile>;
  const bool window = p.over == Over::depth;
  const std::int64_t m = p.m * (p.over == Over::rows ? step.batch : 1);
  const std::int64_t stack = p.stack * (p.over == Over::stack ? step.batch : 1);
  const bool starts = !window || step.first;
  const BlockParts<Tile::depth> parts = window ? BlockParts<Tile::depth>(step.begin * p.k, step.batch * p.k, p.k, step.last)
                                               : BlockParts<Tile::depth>(0, p.k, canonical_block, true);
  detail::TileProducts<Tile, T, Contraction<T, A, B, W, C>> products(p, shared);
  for (std::int64_t t = block_index(); t < Results::across(p.n) * Results::down(m) * stack; t += block_count()) {
    const Results tile(t, m, p.n);
    W total[Tile::each][Tile::each];
    T chain[Tile::each][Tile::each];
    detail::for_outputs<Tile::each>([&](int i, int j) {
      total[i][j] = !starts && tile.has(i, j) ? static_cast<W>(p.c[tile.place(i, j)]) : W{};
      chain[i][j] = window && p.chain != nullptr && tile.has(i, j) ? p.chain[tile.place(i, j)] : T(0);
    });
    products.add(
        chain, tile, parts,
        [&](const BlockPiece& part) {
          if (part.begins) detail::for_outputs<Tile::each>([&](int i, int j) { chain[i][j] = 0; });
        },
        [&](const BlockPiece& part) {
          if (part.closes) detail::for_outputs<Tile::each>([&](int i, int j) { total[i][j] += chain[i][j]; });
        });
    tile.write(p.c, total);
    if (window && p.chain != nullptr) tile.write(p.chain, chain);
  }
}

/// The one kernel of matrix products.
template <class Tile, class T, class A, class B, class W, class C>
GRADUAL_KERNEL_OF(Tile::threads, Tile::blocks(sizeof(T) + sizeof(W), Contraction<T, A, B, W, C>::convolves))
void contraction_kernel(Contraction<T, A, B, W, C> p, const Step* step) {
  GRADUAL_SHARED typename Tile::template Shared<T> shared;
  if (!step->skipped) contract<Tile>(p, *step, shared);
}

/// A product over samples in two steps, where its result is too small to fill a GPU. First, the chains of all blocks that the
/// micro-batch touches are computed side by side, into `chains`, block by block.
template <class Tile, class T, class A, class B, class W>
GRADUAL_KERNEL_OF(Tile::threads, Tile::blocks(sizeof(T), Contraction<T, A, B, W>::convolves))
void contraction_blocks_kernel(Contraction<T, A, B, W> p, T* chains, const Step* step) {
  if (step->skipped) return;
  GRADUAL_SHARED typename Tile::template Shared<T> shared;
  using Results = detail::TileOfResults<Tile>;
  const BlocksOfStep blocks(*step, p.k);
  const std::int64_t outputs = p.stack * p.m * p.n, tiles = Results::across(p.n) * Results::down(p.m) * p.stack;
  detail::TileProducts<Tile, T, Contraction<T, A, B, W>> products(p, shared);
  for (std::int64_t t = block_index(); t < tiles * blocks.count; t += block_count()) {
    const std::int64_t number = t / tiles;
    const Results tile(t - number * tiles, p.m, p.n);
    const BlocksOfStep::Rows rows = blocks.rows(number);
    T chain[Tile::each][Tile::each];
    detail::for_outputs<Tile::each>(
        [&](int i, int j) { chain[i][j] = rows.goes_on && tile.has(i, j) ? p.chain[tile.place(i, j)] : T(0); });
    const auto nothing = [](const BlockPiece&) {};
    products.add(chain, tile, BlockParts<Tile::depth>(rows), nothing, nothing);
    tile.write(chains + number * outputs, chain);
  }
}

/// Then the chains of closed blocks are added to the totals in order. `open`: where an unfinished one is kept, or null.
template <class T, class W>
GRADUAL_KERNEL_OF(TotalsTile<T>::threads) void contraction_totals_kernel(W* totals, T* open, const T* chains,
                                                                         std::int64_t outputs, std::int64_t positions,
                                                                         const Step* step) {
  if (step->skipped) return;
  using Tile = TotalsTile<T>;
  GRADUAL_SHARED typename Tile::Shared shared;
  const BlocksOfStep blocks(*step, positions);
  for (std::int64_t first = block_index() * Tile::columns; first < outputs; first += block_count() * Tile::columns) {
    const std::int64_t i = first + thread_index() % warp_size;
    const bool adds = thread_index() < warp_size && i < outputs;
    W total = adds && !step->first ? totals[i] : W{};
    const T last = adds ? chains[(blocks.count - 1) * outputs + i] : T(0);
    Tile::template add<T>(total, chains + i, blocks.closed, outputs, i < outputs, shared);
    if (!adds) continue;
    totals[i] = total;
    if (open != nullptr) open[i] = last;
  }
}

}  // namespace gradual::cuda
