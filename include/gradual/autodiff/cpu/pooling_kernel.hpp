#pragma once
#include <algorithm>

#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/alignment.hpp>
#include <gradual/core/cpu/pooling.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

/// Whether operand k of a pooling or of one of its adjoints, or the result for k = −1, has one element for each window.
constexpr bool pools_down(const Node& node, int k) {
  if (is<MaxPool2d>(node)) return k < 0;
  return k == 2 || (is<MaxPool2dSpread>(node) ? k == 0 : k < 0);
}

/// Runs a pooling or one of its adjoints on all planes; `in` holds its operands.
template <class T>
void run_pooling(const Node& node, const Pooling& p, const void* const* in, T* out, std::int64_t planes, T* workspace,
                 Part part = {}) {
  const auto operand = [&](int k) { return static_cast<const T*>(in[k]); };
  if (is<MaxPool2d>(node)) max_pool(p, operand(0), out, planes, workspace, part);
  else if (is<MaxPool2dSpread>(node)) max_pool_spread(p, operand(0), operand(1), operand(2), out, planes, workspace, part);
  else max_pool_gather(p, operand(0), operand(1), operand(2), out, planes, part);
}

/// Returns the workspace of poolings of elements of type E, in elements of the type that they are computed in.
template <class E>
constexpr std::int64_t pooling_workspace_of(const Pooling& p) {
  return pooling_workspace(p) + (is_small_float<E> ? 4 * std::max(p.pixels(), p.positions()) : 0);
}

/// Does the same as `run_pooling` for 16 bits: one plane at a time is converted to floats, each output is rounded once.
template <class E>
  requires is_small_float<E>
void run_pooling(const Node& node, const Pooling& p, const void* const* in, E* out, std::int64_t planes, float* workspace,
                 Part part = {}) {
  const auto size = [&](int k) { return pools_down(node, k) ? p.positions() : p.pixels(); };
  const std::int64_t most = std::max(p.pixels(), p.positions());
  float *const result = workspace + pooling_workspace(p), *const operands = result + most;
  const auto [first, last] = part.of(planes);
  for (std::int64_t i = first; i < last; ++i) {
    const void* plane[3]{};
    float* next = operands;
    for (int k = 0; k < node.op->arity; ++k, next += most) {
      copy_row(static_cast<const E*>(in[k]) + i * size(k), size(k), next);
      plane[k] = next;
    }
    run_pooling(node, p, plane, result, 1, workspace);
    copy_row(result, size(-1), out + i * size(-1));
  }
}

/// The kernel of pooling node `Id` of program P.
template <class P, int Id>
class PoolingKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr Shape result = node.shape;
  static constexpr Pooling form = recorded_pooling(P::graph.nodes, node);
  using E = ElementOf<node.dtype>;
  using T = Computed<E>;

 public:
  static constexpr bool holds_rows = false;  ///< of unfinished blocks

  static constexpr std::int64_t workspace_bytes() { return aligned(pooling_workspace_of<E>(form) * std::int64_t{sizeof(T)}); }
  static constexpr std::int64_t work() { return result.product(0, 2) * form.places(); }

  GRADUAL_KERNEL_CODE static void run(const StepArguments& s) {
    const void* in[3]{};
    for (int k = 0; k < node.op->arity; ++k) in[k] = s.address[P::schedule.storage[node.in[k]]];
    run_pooling(node, form, in, static_cast<E*>(s.address[Id]), result.product(0, 2) * s.batch,
                reinterpret_cast<T*>(s.workspace), s.part);
  }
};

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
