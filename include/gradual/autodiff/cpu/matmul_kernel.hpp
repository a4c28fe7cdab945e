#pragma once
#include <gradual/autodiff/plan.hpp>
#include <gradual/autodiff/shadow.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/cpu/batch_contraction.hpp>

namespace gradual::cpu {

/// The matrix product of node `Id` of program P: which kernel computes it, and the workspace that it needs.
template <class P, int Id>
class MatmulKernel {
  static constexpr Node node = P::graph.nodes[Id];
  static constexpr Shape a_shape = P::graph.nodes[node.in[0]].shape, b_shape = P::graph.nodes[node.in[1]].shape;
  static constexpr bool trans_a = node.attributes.integer[0] & 1, trans_b = node.attributes.integer[0] & 2;
  static constexpr int rank = node.shape.rank;
  static constexpr std::int64_t columns = node.shape.extent[rank - 1];
  using T = std::conditional_t<P::graph.nodes[node.in[0]].dtype == DType::f64, double, float>;
  using W = AccumulatorOf<P, Id, T>;

  static constexpr BatchContractionForm contraction{a_shape.extent[1], columns, a_shape.extent[0]};

  static constexpr std::int64_t depth() { return a_shape.extent[rank - (trans_a ? 2 : 1)]; }

 public:
  static constexpr std::int64_t workspace_bytes() {
    if constexpr (node.op->kind == Kind::batch_contract)
      return aligned(contraction.template workspace<T>() * std::int64_t{sizeof(T)});
    else
      return aligned(MatmulForm{columns, depth(), trans_a, trans_b}.template workspace<T>() * std::int64_t{sizeof(T)});
  }

  /// Multiply-adds for each sample, by which it is decided whether threads pay.
  static constexpr std::int64_t work() {
    if constexpr (node.op->kind == Kind::batch_contract) return a_shape.unit() * columns;
    else return node.shape.unit() * depth();
  }

  static void run(const StepArguments& s) {
    const T* a = static_cast<const T*>(s.address[P::schedule.storage[node.in[0]]]);
    const T* b = static_cast<const T*>(s.address[P::schedule.storage[node.in[1]]]);
    W* c = static_cast<W*>(s.address[Id]);
    T* workspace = reinterpret_cast<T*>(s.workspace);
    if constexpr (node.op->kind == Kind::batch_contract) {
      constexpr std::int64_t p = contraction.p;
      const WindowPart<T, W> part{c, static_cast<T*>(s.open[Id]), s.begin * p, s.batch * p, s.first, s.last};
      batch_contraction<T, contraction.i, contraction.j, p>(a, b, part, workspace, s.part);
    } else if constexpr (rank == 2) {
      const std::int64_t m = node.shape.extent[0] * (node.shape.batched() ? s.batch : 1);
      matmul<T, trans_a, trans_b, columns, depth()>(a, b, c, m, workspace, s.part);
    } else {
      constexpr std::int64_t m = node.shape.extent[rank - 2];
      const std::int64_t stack = node.shape.product(0, rank - 2) * (node.shape.batched() ? s.batch : 1);
      const auto [first, last] = s.part.of(stack);
      for (std::int64_t i = first; i < last; ++i)
        matmul<T, trans_a, trans_b, columns, depth()>(a + i * m * depth(), b + i * depth() * columns, c + i * m * columns,
                                                      m, workspace);
    }
  }
};

}  // namespace gradual::cpu
