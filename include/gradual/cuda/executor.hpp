#pragma once
#include <gradual/autodiff/group_table.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/cuda/contraction.hpp>
#include <gradual/cuda/loop_kernels.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

/// What a launch of a kernel needs to know. `step` lies on the device; `capacity` is the most samples of a micro-batch.
struct Launch {
  const Stream& stream;
  const StepArguments& arguments;
  const Step* step;
  std::int64_t capacity;
};

/// Blocks of a launch: enough for all of `work`, or many rounds of every multiprocessor.
constexpr std::int64_t blocks_for(std::int64_t work, std::int64_t each) {
  constexpr std::int64_t most = 4096;
  const std::int64_t blocks = (work + each - 1) / each;
  return blocks < most ? blocks : most;
}

/// Launches the loop of group G: as a map, by rows, by columns, or by rows and then by columns.
template <class P, int G>
struct LoopLaunch {
  using Body = LoopBody<P, G>;

  static void run(const Launch& launch) {
    const LoopMemory<Body> memory = find_memory(launch.arguments);
    const std::int64_t batch = Body::batched ? launch.capacity : 1;
    if constexpr (Body::group.row_reduces) {
      launch.stream.launch(&row_kernel<Body, !Body::group.batch_reduces>,
                           blocks_for(Body::rows * batch, row_threads / warp_size), row_threads, memory, launch.step);
    }
    if constexpr (Body::group.batch_reduces) {
      using Tile = ColumnTile<Body>;
      launch.stream.launch(&column_kernel<Body>, (Body::columns + Tile::columns - 1) / Tile::columns, Tile::threads, memory,
                           launch.step);
    }
    if constexpr (!Body::group.row_reduces && !Body::group.batch_reduces) {
      launch.stream.launch(&map_kernel<Body>, blocks_for(Body::elements * batch, map_threads), map_threads, memory, launch.step);
    }
  }

 private:
  static LoopMemory<Body> find_memory(const StepArguments& a) {
    LoopMemory<Body> memory{};
    for (int s = 0; s < Body::slots; ++s) {
      const Slot& slot = Body::plan.slots[s];
      if (Body::reads(s)) memory.read[s] = a.address[slot.memory];
      if (Body::writes(s)) memory.written[s] = a.address[slot.node];
      if (slot.source == Source::batch_reduce) memory.chain[s] = a.open[slot.node];
    }
    return memory;
  }
};

/// Launches the matrix product of node `Id`.
template <class P, int Id>
struct ContractionLaunch {
  static constexpr Node node = P::graph.nodes[Id];
  static constexpr Shape a_shape = P::graph.nodes[node.in[0]].shape, b_shape = P::graph.nodes[node.in[1]].shape;
  static constexpr int rank = node.shape.rank;
  using T = std::conditional_t<node.dtype == DType::f64, double, float>;
  using Over = typename Contraction<T>::Over;

  static void run(const Launch& launch) {
    Contraction<T> p = form();
    p.a = static_cast<const T*>(launch.arguments.address[P::schedule.storage[node.in[0]]]);
    p.b = static_cast<const T*>(launch.arguments.address[P::schedule.storage[node.in[1]]]);
    p.c = static_cast<T*>(launch.arguments.address[Id]);
    if (p.over == Over::depth) p.chain = static_cast<T*>(launch.arguments.open[Id]);
    constexpr std::int64_t multiprocessors = 132;  // smaller tiles where larger ones would leave many of them idle
    if (tiles<128>(p, launch) >= multiprocessors) start<ContractionTile<128, 128, 8>>(p, launch);
    else if (tiles<64>(p, launch) >= multiprocessors) start<ContractionTile<64, 64, 4>>(p, launch);
    else start<ContractionTile<32, 32, 2>>(p, launch);
  }

 private:
  static constexpr Contraction<T> form() {
    Contraction<T> p{};
    p.n = node.shape.extent[rank - 1];
    p.stack = 1;
    if (node.op->kind == Kind::batch_contract) {
      p.m = a_shape.extent[1], p.k = a_shape.extent[0];
      p.a_row = 1, p.a_depth = p.m, p.b_depth = p.n, p.b_column = 1;
      p.over = Over::depth;
      return p;
    }
    const bool trans_a = node.attributes.integer[0] & 1, trans_b = node.attributes.integer[0] & 2;
    p.m = node.shape.extent[rank - 2];
    p.k = a_shape.extent[rank - (trans_a ? 2 : 1)];
    p.a_row = trans_a ? 1 : p.k, p.a_depth = trans_a ? p.m : 1;
    p.b_depth = trans_b ? 1 : p.n, p.b_column = trans_b ? p.k : 1;
    if (rank > 2) {
      p.stack = node.shape.product(0, rank - 2);
      p.a_matrix = p.m * p.k, p.b_matrix = p.k * p.n;
    }
    if (node.shape.batched()) p.over = rank > 2 ? Over::stack : Over::rows;
    return p;
  }
  static_assert(!(form().over == Over::rows && form().a_row == 1 && form().a_depth != 1),
                "a transposed left operand whose columns are samples has no fixed strides");

  template <int Side>
  static std::int64_t tiles(const Contraction<T>& p, const Launch& launch) {
    const std::int64_t m = p.m * (p.over == Over::rows ? launch.capacity : 1);
    const std::int64_t stack = p.stack * (p.over == Over::stack ? launch.capacity : 1);
    return (m + Side - 1) / Side * ((p.n + Side - 1) / Side) * stack;
  }
  template <class Tile>
  static void start(const Contraction<T>& p, const Launch& launch) {
    launch.stream.launch(&contraction_kernel<Tile, T>, blocks_for(tiles<Tile::rows>(p, launch), 1), Tile::threads, p,
                         launch.step);
  }
};

/// Launches the kernels of program P in order.
template <class P>
class Executor {
  template <int G>
  struct Make {
    static void run(const Launch& launch) {
      if constexpr (P::schedule.groups[G].kind == Kind::map) LoopLaunch<P, G>::run(launch);
      else ContractionLaunch<P, P::schedule.members[P::schedule.groups[G].first]>::run(launch);
    }
    static constexpr auto value = &run;
  };
  static constexpr GroupTable<P, void (*)(const Launch&), Make> table{};

 public:
  template <Phase Which>
  static void run(const Launch& launch) {
    constexpr int end = first_group_of<P>(static_cast<int>(Which) + 1);
    for (int g = first_group_of<P>(static_cast<int>(Which)); g < end; ++g) table[g](launch);
  }
};

}  // namespace gradual::cuda
