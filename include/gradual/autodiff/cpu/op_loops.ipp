#pragma once
#include <gradual/autodiff/cpu/op_loops.hpp>

namespace gradual::cpu {

GRADUAL_ONCE const OpLoops& library_loops(const OpInfo& op) {
  static constexpr LoopTable<OpsFor<void>> table{};
  return table.of(op);
}

}  // namespace gradual::cpu
