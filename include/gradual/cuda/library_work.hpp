#pragma once
#include <gradual/cuda/convolution_library.hpp>
#include <gradual/cuda/library_convolution.hpp>
#include <gradual/cuda/library_product.hpp>

namespace gradual::cuda {

/// Whether a library computes node `node` of a graph, where a window's sums are held in S.
template <class S>
constexpr bool is_library_work(const Node* nodes, const Node& node) {
  return is_library_product<S>(nodes, node) || (has_convolution_library && is_library_convolution<S>(nodes, node));
}
template <class P>
constexpr bool is_library_work(int node) {
  return is_library_work<typename P::Shadow>(P::graph.nodes, P::graph.nodes[node]);
}

inline constexpr std::int64_t library_alignment = 256;  ///< of a library's workspace, in bytes

/// Returns the bytes of workspace for a library's products in program P: sixteen times the largest of their matrices, that of
/// one sample where samples have their own, and at most the 32 MiB that NVIDIA recommends for Hopper.
template <class P>
constexpr std::int64_t product_workspace() {
  constexpr std::int64_t most = std::int64_t{32} << 20;
  std::int64_t largest = 0;
  const auto add = [&](const Shape& shape) { largest = largest < shape.unit() ? shape.unit() : largest; };
  for (int i = 0; i < P::nodes; ++i) {
    const Node& node = P::graph.nodes[i];
    if (!is_library_product<typename P::Shadow>(P::graph.nodes, node)) continue;
    add(node.shape);
    for (int k = 0; k < 2; ++k) add(P::graph.nodes[node.in[k]].shape);
  }
  return largest > most / 64 ? most : aligned(largest * 64);  // 16 times, of four bytes each
}

/// Returns the bytes of workspace for a library's convolutions of `capacity` samples, at most 256 MiB. On tensor cores the
/// library copies all operands and results, to put the channels of a pixel side by side, and keeps up to a MiB of partial sums;
/// on other cores it keeps the sums alone.
template <class P>
constexpr std::int64_t convolution_workspace(std::int64_t capacity, Precision precision) {
  constexpr std::int64_t most = std::int64_t{256} << 20, sums = std::int64_t{1} << 20;
  std::int64_t largest = 0;
  for (int i = 0; i < P::nodes; ++i) {
    const Node& node = P::graph.nodes[i];
    if (!is_library_work<P>(i) || is_library_product<typename P::Shadow>(P::graph.nodes, node)) continue;
    const DType type = P::graph.nodes[node.in[0]].dtype;
    std::int64_t bytes = sums;
    const auto add = [&](const Shape& shape) {
      const std::int64_t unit = shape.unit() * size_of(type), count = shape.batched() ? capacity : 1;
      bytes = unit > 0 && count > (most - bytes) / unit ? most : bytes + unit * count;
    };
    if (type != DType::f32 || precision != Precision::float32)  // on tensor cores
      add(node.shape), add(P::graph.nodes[node.in[0]].shape), add(P::graph.nodes[node.in[1]].shape);
    largest = largest < bytes ? bytes : largest;
  }
  return aligned(largest);
}

}  // namespace gradual::cuda
