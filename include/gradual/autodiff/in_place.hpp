#pragma once
#include <gradual/autodiff/graph.hpp>

namespace gradual {

/// Whether a node is the input of this number.
template <class P>
constexpr bool is_input(int node, int input) {
  const Node& n = P::graph.nodes[node];
  return n.op->kind == Kind::input && n.attributes.integer[1] == 0 && n.attributes.integer[0] == input;
}

/// Whether root `value` r of an update program may be written over input r (over input r + 1 from the first state on,
/// the gradient being input 1): no kernel reads that input after the one that writes the root.
template <class P>
constexpr bool updates_in_place() {
  for (int r = 0; r < P::graph.counts.roots; ++r) {
    const int input = r == 0 ? 0 : r + 1, root = P::schedule.storage[P::graph.roots[r].node];
    for (int other = 0; other < r; ++other)
      if (P::schedule.storage[P::graph.roots[other].node] == root) return false;
    if (is_input<P>(root, input)) continue;  // a state that stays as it is: nothing is written
    for (int i = 0; i < P::nodes; ++i)
      for (int k = 0; k < P::graph.nodes[i].op->arity; ++k)
        if (is_input<P>(P::graph.nodes[i].in[k], input) && P::schedule.group_of[i] > P::schedule.group_of[root]) return false;
  }
  return true;
}

}  // namespace gradual
