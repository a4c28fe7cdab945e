#pragma once
#include <gradual/cuda/convolution_library.hpp>
#include <gradual/cuda/library_convolution.hpp>
#include <gradual/cuda/library_product.hpp>

namespace gradual::cuda {

/// Whether a library computes node `node` of program P.
template <class P>
constexpr bool is_library_work(int node) {
  const Node *const nodes = P::graph.nodes, &work = nodes[node];
  return is_library_product<typename P::Shadow>(nodes, work) ||
         (has_convolution_library && is_library_convolution<typename P::Shadow>(nodes, work));
}

inline constexpr std::int64_t library_alignment = 256;  ///< of a library's workspace, in bytes

/// Bytes that libraries may use for program P: sixteen times the largest of their matrices or images, of one sample where
/// it is one of samples, and at most the 32 MiB that NVIDIA recommends for Hopper.
template <class P>
constexpr std::int64_t library_workspace() {
  constexpr std::int64_t most = std::int64_t{32} << 20;
  std::int64_t largest = 0;
  const auto add = [&](const Shape& shape) { largest = largest < shape.unit() ? shape.unit() : largest; };
  for (int i = 0; i < P::nodes; ++i) {
    const Node& node = P::graph.nodes[i];
    if (!is_library_work<P>(i)) continue;
    add(node.shape);
    for (int k = 0; k < 2; ++k) add(P::graph.nodes[node.in[k]].shape);
  }
  return largest > most / 64 ? most : aligned(largest * 64);  // of four bytes
}

}  // namespace gradual::cuda
