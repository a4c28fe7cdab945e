#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/simplify.hpp>

namespace gradual {

/// Returns, for each node of backward that `recompute` put there, the node of forward that it computes again; −1 for all
/// others. Any other node equal to one of forward has been removed by `simplify`.
inline std::vector<int> find_repeats(std::span<const Node> nodes, int first_adjoint) {
  std::vector<int> original(nodes.size() + 1, -1);
  for (std::size_t i = static_cast<std::size_t>(first_adjoint); i < nodes.size(); ++i) {
    Node node = nodes[i];
    for (int k = 0; k < node.op->arity; ++k)
      if (const int same = original[static_cast<std::size_t>(node.in[k])]; same >= 0) node.in[k] = same;
    for (int j = 0; j < first_adjoint && node.op->arity > 0; ++j)
      if (detail::same_computation(nodes[static_cast<std::size_t>(j)], node)) original[i] = j;
  }
  return original;
}

/// Returns, for each node, its number in the program without repeats; a repeated node has the number of its original.
inline std::vector<int> numbers_without_repeats(std::span<const Node> nodes, int first_adjoint) {
  std::vector<int> number = find_repeats(nodes, first_adjoint);
  int next = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (number[i] < 0) number[i] = next++;
  return number;
}

}  // namespace gradual
