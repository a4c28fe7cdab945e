#pragma once
#include <gradual/autodiff/ops/scatter_add.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/alignment.hpp>
#include <gradual/core/cpu/own_rows.hpp>

namespace gradual::cpu {

/// Returns the form of the tables, one for each sample, from which a node reads rows or into which it adds rows.
constexpr OwnRows own_rows(const Node& node, const Shape& first, const Shape& index) {
  const Shape& table = node.op->kind == Kind::scatter_own ? node.shape : first;
  return {table.extent[1], table.extent[2], index.unit()};
}

/// The kernel of such a node `Id` of program P.
template <class P, int Id>
class OwnRowsKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr bool scatters = node.op->kind == Kind::scatter_own;
  static constexpr OwnRows own =
      own_rows(node, P::template node<node.in[0]>.shape, P::template node<node.in[1]>.shape);
  using E = ElementOf<node.dtype>;
  using T = Computed<E>;

 public:
  static constexpr bool holds_rows = false;  ///< of unfinished blocks

  static constexpr std::int64_t workspace_bytes() {
    return scatters ? aligned(scatter_own_workspace<E>(own.table(), own.positions) * std::int64_t{sizeof(T)}) : 0;
  }
  static constexpr std::int64_t work() { return own.positions * own.width + (scatters ? own.table() : 0); }

  GRADUAL_KERNEL_CODE static void run(const StepArguments& s) {
    const E* from = static_cast<const E*>(s.address[P::template storage<node.in[0]>]);
    const auto* index = static_cast<const std::int32_t*>(s.address[P::template storage<node.in[1]>]);
    E* to = static_cast<E*>(s.address[Id]);
    if constexpr (scatters) scatter_own(own, from, index, to, s.batch, reinterpret_cast<T*>(s.workspace), s.part);
    else gather_own(own, from, index, to, s.batch, s.part);
  }
};

}  // namespace gradual::cpu
