#pragma once
#include <gradual/autodiff/addresses_of_uses.hpp>
#include <gradual/autodiff/group_table.hpp>
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/cuda/block_split.hpp>
#include <gradual/cuda/column_kernels.hpp>
#include <gradual/cuda/gather.hpp>
#include <gradual/cuda/launch.hpp>
#include <gradual/cuda/long_rows.hpp>
#include <gradual/cuda/pooling.hpp>

namespace gradual::cuda {

inline constexpr int block_threads = 256;  ///< of a block in a cluster that computes several groups
/// Blocks of a cluster that computes several groups: the most that a GPU runs side by side (H100, H200).
inline constexpr int cluster_blocks = 16;
/// The number of chains of sums over the batch per multiprocessor from which on each chain has a thread of its own.
inline constexpr std::int64_t chains_worth_a_thread = 512;
struct NothingShared {};

// Each kernel group has a task, which says where its values are. It is launched alone, or computed (`compute`) by a block of
// threads that computes other groups, too: `Shared` is what it needs of the block's memory.

/// Launches the loop of group G: as a map, by rows, by columns, or by rows and then by columns.
template <class P, int G>
struct LoopLaunch {
  using Body = LoopBody<P, loop_codes<P>.code[G]>;
  using Task = LoopMemory<Body::slots>;
  using BlockTile = ColumnTile<Body, block_threads, 8>;  // its time is spent waiting for memory
  static constexpr bool sums = Body::group.batch_reduces, reduces = Body::group.row_reduces;
  using Shared = std::conditional_t<sums, typename BlockTile::Shared, NothingShared>;
  /// Whether a block of a cluster can compute it: the lanes of one warp sum columns for all threads of the block.
  static constexpr bool in_block = !sums || BlockTile::threads == block_threads;

  GRADUAL_DEVICE static void compute(const Task& memory, const Step& step, Shared& shared) {
    if constexpr (reduces) reduce_rows<Body, !sums>(memory, step);
    if constexpr (reduces && sums) cluster_barrier();
    if constexpr (sums) sum_columns<BlockTile>(memory, step, shared);
    if constexpr (!reduces && !sums) map_elements<Body>(memory, step);
  }

  static void run(const Launch& launch) {
    const Task memory = task(launch.arguments);
    const std::int64_t batch = Body::batched ? launch.capacity : 1;
    if constexpr (reduces) reduce_rows_of(launch, memory, batch);
    if constexpr (sums) reduce_columns(launch, memory);
    if constexpr (!reduces && !sums) map(launch, memory, batch);
  }

  static Task task(const StepArguments& a) {
    Task memory{};
    constexpr const auto& places = loop_places<P, G>;
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      if (Body::reads(s))
        memory.read[s] = static_cast<std::byte*>(a.address[places.memory[s]]) + places.begin[s] * size_of(slot.dtype);
      if (Body::writes(s)) memory.written[s] = a.address[places.node[s]];
      if (slot.source == Source::batch_reduce) memory.chain[s] = a.open[places.node[s]];
    }
    return memory;
  }

 private:
  /// Whether anything but results of rows and sums over the batch is written.
  static constexpr bool writes_elements =
      Body::plan.count_of([](const Slot& slot) { return slot.stored && !is_row_reduced(slot) && !is_batch_reduced(slot); }) > 0;

  static void map(const Launch& launch, const Task& memory, std::int64_t batch) {
    launch.stream.launch(&map_kernel<Body>, blocks_for(Body::elements * batch, map_threads), map_threads, memory, launch.step);
  }
  /// Launches a block for each row where rows are long and few, then a map of their elements; otherwise a warp for each row.
  static void reduce_rows_of(const Launch& launch, const Task& memory, std::int64_t batch) {
    const std::int64_t rows = Body::rows * batch;
    if constexpr (LongRowTile<Body>::pays)
      if (are_few(rows)) {
        launch.stream.launch(&long_row_kernel<Body>, blocks_for(rows, 1), long_row_threads, memory, launch.step);
        if constexpr (!sums && writes_elements) map(launch, memory, batch);
        return;
      }
    launch.stream.launch(&row_kernel<Body, !sums>, blocks_for(rows, row_threads / lanes_of_row<Body>), row_threads, memory,
                         launch.step);
  }
  static void reduce_columns(const Launch& launch, const Task& memory) {
    using Tile = ColumnTile<Body>;
    using Cell = typename Tile::Cell;
    constexpr BlockSplit split = column_split<P>(G);
    static_assert(split.chains == Body::columns * Tile::count && split.positions == Body::rows &&
                  split.chain_bytes == sizeof(Cell));
    if (const std::int64_t blocks = split.blocks(launch.capacity); blocks == 0) {
      launch.stream.launch(&column_kernel<Body>, Tile::across, Tile::threads, memory, launch.step);
    } else {
      Cell* const chains = reinterpret_cast<Cell*>(launch.arguments.workspace);
      if (Body::columns * blocks >= multiprocessors * chains_worth_a_thread)
        launch.stream.launch(&column_chains_kernel<Body>, blocks_for(Body::columns * blocks, map_threads), map_threads, memory,
                             chains, blocks, launch.step);
      else
        launch.stream.launch(&column_blocks_kernel<Body>, Tile::across * blocks_for(blocks, 1), Tile::threads, memory, chains,
                             blocks, launch.step);
      launch.stream.launch(&column_totals_kernel<Body>, Tile::across, TotalsTile<Cell>::threads, memory,
                           static_cast<const Cell*>(chains), blocks, launch.step);
    }
  }
};

/// Launches the matrix product or the convolution of node `Id`.
template <class P, int Id>
struct ContractionLaunch {
  static constexpr Node node = P::template node<Id>;
  static constexpr Kind kind = node.op->kind;
  static constexpr Shape a_shape = P::template node<node.in[0]>.shape, b_shape = P::template node<node.in[1]>.shape;
  static constexpr int rank = node.shape.rank;
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using T = Computed<E>;
  using W = AccumulatorOf<P, Id, T>;
  using C = std::conditional_t<is_sample_sum(kind), W, E>;

  /// Whether a cluster uses the smallest tiles: for products over samples that take at most one of them per block, and for
  /// other products with few columns.
  static constexpr bool few_outputs =
      kind == Kind::batch_contract ? node.shape.unit() <= cluster_blocks * SmallestTile::rows * SmallestTile::columns
                                   : kind == Kind::contract && node.shape.extent[rank - 1] <= SmallestTile::columns;
  using BlockTile = std::conditional_t<few_outputs, SmallestTile, SmallTile>;
  static_assert(BlockTile::threads == block_threads);
  using Shared = typename BlockTile::template Shared<T>;
  static constexpr bool in_block = true;

  template <class A, class B>
  GRADUAL_DEVICE static void compute(const Contraction<T, A, B, W, C>& p, const Step& step, Shared& shared) {
    contract<BlockTile>(p, step, shared);
  }

  static auto task(const StepArguments& s) {
    const auto at = [&](int k) { return static_cast<const E*>(s.address[P::schedule.storage[node.in[k]]]); };
    auto p = [&] {
      if constexpr (kind == Kind::convolve) return convolution(at(0), at(1));
      else if constexpr (kind == Kind::batch_convolve) return batch_convolution(at(0), at(1));
      else if constexpr (kind == Kind::batch_contract) return batch_product(s);
      else return product(at(0), at(1));
    }();
    p.c = static_cast<C*>(s.address[Id]);
    if constexpr (is_sample_sum(kind)) p.chain = static_cast<T*>(s.open[Id]);
    return p;
  }

  static void run(const Launch& launch) {
    const auto p = task(launch.arguments);
    if constexpr (is_sample_sum(kind)) {
      constexpr BlockSplit split = contraction_split<P>(Id);
      start_sum_of_products(p, split.blocks(launch.capacity), launch);
    } else {
      start_contraction(p, launch);
    }
  }

 private:
  using Product = Contraction<T, Strided<E>, Strided<E>, W, C>;

  static Product product(const E* x, const E* y) {
    constexpr auto f = product_of(node, a_shape);
    static_assert(!(node.shape.batched() && rank == 2 && f.trans_a && a_shape.extent[1] != 1),
                  "a transposed left operand whose columns are samples has no fixed strides");
    Product p{{x, f.trans_a ? 1 : f.k, f.trans_a ? f.m : 1, f.m * f.k},
              {y, f.trans_b ? f.k : 1, f.trans_b ? 1 : f.n, f.k * f.n},
              nullptr, nullptr, f.m, f.n, f.k, f.stack, {}};
    if (node.shape.batched()) p.over = rank > 2 ? Product::Over::stack : Product::Over::rows;
    return p;
  }
  static auto batch_product(const StepArguments& s) {
    constexpr std::int64_t m = a_shape.extent[1], n = node.shape.extent[1], k = a_shape.extent[0];
    const auto a = rows_of<node.in[0], m>(s);
    const auto b = rows_of<node.in[1], n>(s);
    using Rows = Contraction<T, std::remove_const_t<decltype(a)>, std::remove_const_t<decltype(b)>, W>;
    return Rows{a, b, nullptr, nullptr, m, n, k, 1, Rows::Over::depth};
  }
  /// Returns the rows, of `Columns` columns, of an operand of a contraction over a window.
  template <int Operand, std::int64_t Columns>
  static auto rows_of(const StepArguments& s) {
    constexpr int uses = count_of_uses(P::graph.nodes, Operand);
    const auto values = addresses_of_uses<P, Operand>(s);
    if constexpr (uses == 1) {
      return Strided<E>{static_cast<const E*>(values[0]), 1, Columns};
    } else {
      RowsOfUses<E, uses, a_shape.extent[0] / uses> rows;
      for (int u = 0; u < uses; ++u) rows.values[u] = static_cast<const E*>(values[static_cast<std::size_t>(u)]);
      rows.columns = Columns;
      return rows;
    }
  }

  static constexpr Convolution form() { return convolution_of(node, a_shape, b_shape); }

  static auto convolution(const E* images, const E* weights) {
    constexpr Convolution c = form();
    using Images = Contraction<T, KernelWeights<E, Fixed<c>>, ImagesByPosition<E, Fixed<c>>, W, C>;
    return Images{{weights, {}}, {images, {}}, nullptr, nullptr, c.outputs, c.positions(), c.taps(),
                  a_shape.extent[0] * c.groups, Images::Over::stack};
  }
  static auto batch_convolution(const E* images, const E* adjoints) {
    constexpr Convolution c = form();
    using Images = Contraction<T, OutputAdjoints<E, Fixed<c>>, ImagesByTap<E, Fixed<c>>, W>;
    return Images{{adjoints, {}}, {images, {}}, nullptr, nullptr, c.outputs, c.taps(),
                  a_shape.extent[0] * c.positions(), c.groups, Images::Over::depth};
  }
};

/// Launches the pooling of node `Id`, or its adjoint.
template <class P, int Id>
struct PoolingLaunch {
  static constexpr Node node = P::template node<Id>;
  using E = ElementOf<node.dtype>;
  using Task = PoolingTask<E, Fixed<recorded_pooling(P::graph.nodes, node)>>;

  static constexpr PoolingStep which = is<MaxPool2d>(node)         ? PoolingStep::largest
                                       : is<MaxPool2dSpread>(node) ? PoolingStep::spread
                                                                   : PoolingStep::gather;
  using Shared = NothingShared;
  static constexpr bool in_block = true;

  GRADUAL_DEVICE static void compute(const Task& task, const Step& step, Shared&) { pool<which>(task, step); }

  static Task task(const StepArguments& s) {
    Task all{};
    for (int k = 0; k < node.op->arity; ++k)
      all.in[k] = static_cast<const E*>(s.address[P::schedule.storage[node.in[k]]]);
    all.out = static_cast<E*>(s.address[Id]);
    all.planes = node.shape.product(0, 2);
    return all;
  }
  static void run(const Launch& launch) {
    launch.stream.launch(&pooling_kernel<which, Task>, blocks_for(node.shape.unit() * launch.capacity, map_threads),
                         map_threads, task(launch.arguments), launch.step);
  }
};

/// Launches node `Id`, which gathers rows of a table, the batch's or each sample's own, or sums rows into one.
template <class P, int Id>
struct RowsLaunch {
  static constexpr Node node = P::template node<Id>;
  static constexpr Kind kind = node.op->kind;
  static constexpr bool scatters = kind == Kind::batch_scatter || kind == Kind::scatter_own;
  static constexpr Shape table = scatters ? node.shape : P::template node<node.in[0]>.shape;
  static constexpr std::int64_t rows = table.extent[table.rank - 2], width = table.extent[table.rank - 1];
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using To = std::conditional_t<is_sample_sum(kind), AccumulatorOf<P, Id, Computed<E>>, E>;
  using Task = GatherTask<E, To>;

  using Shared = NothingShared;
  static constexpr bool in_block = true;

  GRADUAL_DEVICE static void compute(const Task& task, const Step& step, Shared&) { move_rows<kind>(task, step); }

  static Task task(const StepArguments& s) {
    const auto at = [&](int k) { return s.address[P::schedule.storage[node.in[k]]]; };
    return {static_cast<const E*>(at(0)), static_cast<const std::int32_t*>(at(1)), static_cast<To*>(s.address[Id]),
            is_sample_sum(kind) ? static_cast<Computed<E>*>(s.open[Id]) : nullptr, rows, width,
            P::template node<node.in[1]>.shape.unit()};
  }
  static void run(const Launch& launch) {
    const std::int64_t threads = (scatters ? scatter_threads(rows, width) : node.shape.unit()) *
                                 (kind == Kind::batch_scatter ? 1 : launch.capacity);
    launch.stream.launch(&rows_kernel<kind, Task>, blocks_for(threads, map_threads), map_threads, task(launch.arguments),
                         launch.step);
  }
};

/// Returns the type of the launch of kernel group G.
template <class P, int G>
constexpr auto launch_of() {
  constexpr Kind kind = P::template group<G>.kind;
  constexpr int first = P::template first_of<G>;
  if constexpr (kind == Kind::map) return std::type_identity<LoopLaunch<P, G>>{};
  else if constexpr (kind == Kind::pool) return std::type_identity<PoolingLaunch<P, first>>{};
  else if constexpr (kind == Kind::gather || kind == Kind::batch_scatter || kind == Kind::gather_own ||
                     kind == Kind::scatter_own)
    return std::type_identity<RowsLaunch<P, first>>{};
  else return std::type_identity<ContractionLaunch<P, first>>{};
}
template <class P, int G>
using LaunchOf = typename decltype(launch_of<P, G>())::type;

/// Computes products by the kernels here, in canonical order. `FastProducts` is an alternative.
struct CanonicalProducts {
  /// Returns the workspace that products and sums over the batch use in turn; `batch`: the most samples of a micro-batch.
  template <class P>
  static constexpr std::int64_t workspace_bytes(std::int64_t batch) {
    return split_workspace<P>(batch, [](int) { return true; });
  }
  /// Whether a sum over samples, in S, is made block by block, and needs memory for an unfinished one.
  template <class S>
  static constexpr bool sums_in_blocks(const Node*, const Node&) {
    return true;
  }
  /// The one property of a micro-batch on which its launches depend.
  static constexpr int variant(const StepArguments&, std::int64_t /*capacity*/) { return 0; }
  /// Whether the kernels here compute all of program P. Only they do nothing where a step is skipped.
  template <class P>
  static constexpr bool all_here() {
    return true;
  }
  /// Whether a product has already done loop G of the program.
  template <class P, int G>
  static constexpr bool did() {
    return false;
  }
  /// Prepares for other addresses and another capacity.
  void plan() {}
  template <class P, int Id>
  void run(const Launch& launch) {
    ContractionLaunch<P, Id>::run(launch);
  }
};

/// Launches the kernels of program P in order.
template <class P, class Products = CanonicalProducts>
class Executor {
  template <int G>
  struct Make {
    static void run(const Launch& launch, Products& products) {
      constexpr int first = P::template first_of<G>;
      if constexpr (std::is_same_v<LaunchOf<P, G>, ContractionLaunch<P, first>>) products.template run<P, first>(launch);
      else if (!products.template did<P, G>()) LaunchOf<P, G>::run(launch);
    }
    static constexpr auto value = &run;
  };
  static constexpr GroupTable<P, void (*)(const Launch&, Products&), Make> table{};

 public:
  template <Phase Which>
  static constexpr bool has_kernels() {
    return first_group_of<P>(static_cast<int>(Which)) < first_group_of<P>(static_cast<int>(Which) + 1);
  }
  template <Phase Which>
  static void run(const Launch& launch, Products& products) {
    constexpr int end = first_group_of<P>(static_cast<int>(Which) + 1);
    for (int g = first_group_of<P>(static_cast<int>(Which)); g < end; ++g)
      if (const bool* const needed = launch.arguments.needed; needed == nullptr || needed[g]) table[g](launch, products);
  }
};

}  // namespace gradual::cuda
