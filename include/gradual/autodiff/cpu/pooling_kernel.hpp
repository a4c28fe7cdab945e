#pragma once
#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/autodiff/plan.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/cpu/pooling.hpp>

namespace gradual::cpu {

/// Runs a pooling or one of its adjoints on all planes. `in` are its operands.
template <class T>
void run_pooling(const Node& node, const Pooling& p, const void* const* in, T* out, std::int64_t planes, T* workspace,
                 Part part = {}) {
  const auto operand = [&](int k) { return static_cast<const T*>(in[k]); };
  if (is<MaxPool2d>(node)) max_pool(p, operand(0), out, planes, workspace, part);
  else if (is<MaxPool2dSpread>(node)) max_pool_spread(p, operand(0), operand(1), operand(2), out, planes, workspace, part);
  else max_pool_gather(p, operand(0), operand(1), operand(2), out, planes, part);
}

/// The pooling of node `Id` of program P.
template <class P, int Id>
class PoolingKernel {
  static constexpr Node node = P::graph.nodes[Id];
  static constexpr Shape result = node.shape;
  static constexpr Pooling form = recorded_pooling(P::graph.nodes, node);
  using T = std::conditional_t<node.dtype == DType::f64, double, float>;

 public:
  static constexpr std::int64_t workspace_bytes() { return aligned(pooling_workspace(form) * std::int64_t{sizeof(T)}); }
  static constexpr std::int64_t work() {
    return result.product(0, 2) * form.positions() * form.y.kernel * form.x.kernel;
  }

  static void run(const StepArguments& s) {
    const void* in[3]{};
    for (int k = 0; k < node.op->arity; ++k) in[k] = s.address[P::schedule.storage[node.in[k]]];
    run_pooling(node, form, in, static_cast<T*>(s.address[Id]), result.product(0, 2) * s.batch,
                reinterpret_cast<T*>(s.workspace), s.part);
  }
};

}  // namespace gradual::cpu
