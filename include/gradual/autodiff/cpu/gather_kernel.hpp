#pragma once
#include <gradual/autodiff/cpu/window_part_of.hpp>
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/core/alignment.hpp>
#include <gradual/core/cpu/gather.hpp>

namespace gradual::cpu {

/// The gather of node `Id` of program P, or its adjoint.
template <class P, int Id>
class GatherKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr bool scatters = node.op->kind == Kind::batch_scatter;
  static constexpr Shape table = scatters ? node.shape : P::template node<node.in[0]>.shape;
  static constexpr std::int64_t width = table.extent[1], positions = P::template node<node.in[1]>.shape.unit();
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using T = Computed<E>;

 public:
  static constexpr std::int64_t workspace_bytes() {
    return scatters ? aligned(scatter_workspace(width) * std::int64_t{sizeof(T)}) : 0;
  }
  static constexpr std::int64_t work() { return positions * width; }

  static void run(const StepArguments& s) {
    const auto* from = static_cast<const E*>(s.address[P::template storage<node.in[0]>]);
    const auto* index = static_cast<const std::int32_t*>(s.address[P::template storage<node.in[1]>]);
    if constexpr (scatters) {
      batch_scatter(from, index, table.extent[0], width, positions, window_part_of<P, Id, T>(s, positions),
                    reinterpret_cast<T*>(s.workspace), s.part);
    } else {
      gather(from, index, static_cast<E*>(s.address[Id]), s.batch * positions, width, s.part);
    }
  }
};

}  // namespace gradual::cpu
