#pragma once
#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/simplify.hpp>

namespace gradual {

/// For each node of backward that `recompute` put there the node of forward that it computes again; −1 for all others.
/// Anything else that were equal to a node of forward, `simplify` would have removed.
template <Counts C>
std::vector<int> find_repeats(const Graph<C>& graph) {
  std::vector<int> original(static_cast<std::size_t>(C.nodes) + 1, -1);
  for (int i = graph.first_adjoint; i < C.nodes; ++i) {
    Node node = graph.nodes[i];
    for (int k = 0; k < node.op->arity; ++k)
      if (const int same = original[static_cast<std::size_t>(node.in[k])]; same >= 0) node.in[k] = same;
    for (int j = 0; j < graph.first_adjoint && node.op->arity > 0; ++j)
      if (detail::same_computation(graph.nodes[j], node)) original[static_cast<std::size_t>(i)] = j;
  }
  return original;
}

/// For each node its number in the program that computes nothing again; what is computed again has that of its
/// original.
template <Counts C>
std::vector<int> numbers_without_repeats(const Graph<C>& graph) {
  std::vector<int> number = find_repeats(graph);
  int next = 0;
  for (int i = 0; i < C.nodes; ++i)
    if (int& here = number[static_cast<std::size_t>(i)]; here < 0) here = next++;
  return number;
}

}  // namespace gradual
