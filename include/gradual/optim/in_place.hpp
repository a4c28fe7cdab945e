#pragma once
#include <gradual/autodiff/ops.hpp>
#include <gradual/optim/update_place.hpp>

namespace gradual {

namespace detail {

/// Returns whether two places of an update program share elements, as an array and each parameter's part of it do.
constexpr bool overlap(UpdatePlace a, UpdatePlace b) {
  return a.array == b.array && (a.parameter < 0 || b.parameter < 0 || a.parameter == b.parameter);
}

/// Returns whether node `i` reads a place other than element by element, or in a kernel after group `g`.
template <class P>
constexpr bool reads_too_late(int i, std::int64_t place, int g) {
  constexpr int arrays = array_count(P::graph.counts);
  if (P::schedule.group_of[i] < g) return false;
  for (int k = 0; k < P::graph.nodes[i].op->arity; ++k) {
    int from = P::graph.nodes[i].in[k];
    bool in_order = P::schedule.groups[P::schedule.group_of[i]].kind == Kind::map;
    for (; P::schedule.group_of[from] < 0 && P::graph.nodes[from].op->arity > 0; from = P::graph.nodes[from].in[0])
      in_order = in_order && P::graph.nodes[from].op->kind == Kind::reshape;
    const Node& node = P::graph.nodes[from];
    if (!is_input(node, Input::sample)) continue;
    const std::int64_t read = node.attributes.integer[0];
    if (!overlap(update_place(read, arrays), update_place(place, arrays))) continue;
    if (P::schedule.group_of[i] > g || !in_order || read != place) return true;
  }
  return false;
}

}  // namespace detail

/// Returns whether every root of an update program may be written over the input at its place (`update_place`): no kernel reads
/// that input, or one that overlaps it, after the kernel that writes the root, and that kernel reads it element by element:
/// each kernel reads its inputs before it stores. A root that is another root too, or an input, has no memory of its own.
template <class P>
constexpr bool updates_in_place() {
  for (int r = 0; r < P::graph.counts.roots; ++r) {
    const std::int64_t place = P::graph.roots[r].index;
    const int root = P::schedule.storage[P::graph.roots[r].node];
    for (int other = 0; other < r; ++other)
      if (P::schedule.storage[P::graph.roots[other].node] == root) return false;
    const Node& node = P::graph.nodes[root];
    if (node.op->kind == Kind::input) {
      if (!is_input(node, Input::sample) || node.attributes.integer[0] != place) return false;  // it lies elsewhere
      continue;  // an unchanged state: nothing is written
    }
    for (int i = 0; i < P::nodes; ++i)
      if (P::schedule.group_of[i] >= 0 && detail::reads_too_late<P>(i, place, P::schedule.group_of[root])) return false;
  }
  return true;
}

}  // namespace gradual
