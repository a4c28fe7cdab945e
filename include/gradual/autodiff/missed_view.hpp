#pragma once
#include <vector>

#include <gradual/autodiff/operand_list.hpp>
#include <gradual/autodiff/ops/stop_gradient.hpp>

namespace gradual::detail {

/// Returns, by node, whether y is computed from it other than through integers, `stop_gradient` or a rule's own value.
constexpr std::vector<char> sources_of(Var y) {
  std::vector<char> sources(static_cast<std::size_t>(y.id) + 1, 0);
  sources.back() = 1;
  for (int i = y.id; i >= 0; --i) {
    const Node& node = (*y.tape)[i];
    if (is<StopGradient>(node) || node.dtype == DType::i32) sources[static_cast<std::size_t>(i)] = 0;
    if (!sources[static_cast<std::size_t>(i)]) continue;
    for (int k = first_source(node); k < node.op->arity; ++k) sources[static_cast<std::size_t>(node.in[k])] = 1;
  }
  return sources;
}

/// Whether two slices of one value have no element in common.
constexpr bool are_apart(const Node& a, const Node& b) {
  if (a.op->kind != Kind::slice || b.op->kind != Kind::slice) return false;
  const auto& [axis, first] = a.attributes.integer;
  const auto& [other_axis, other] = b.attributes.integer;
  return axis == other_axis && (first + a.shape.extent[axis] <= other || other + b.shape.extent[axis] <= first);
}

/// Returns the value behind `view` if y is computed from it without the view, as when columns are sliced from a net's input,
/// but the net reads the whole input: y's derivative by the view is then 0, whatever its derivative by that value. Invalid if y
/// is computed from the view, or only from elements outside the view.
constexpr Var missed_by(Var view, Var y) {
  const Tape& tape = *y.tape;
  if (!is_view(tape[view.id])) return {};
  const std::vector<char> sources = sources_of(y);
  if (view.id <= y.id && sources[static_cast<std::size_t>(view.id)]) return {};
  for (int id = view.id; is_view(tape[id]); id = tape[id].in[0]) {
    const int shown = tape[id].in[0];
    for (int i = shown + 1; i <= y.id; ++i) {
      const Node& node = tape[i];
      if (!sources[static_cast<std::size_t>(i)] || i == id || are_apart(tape[id], node)) continue;
      for (int k = first_source(node); k < node.op->arity; ++k)
        if (node.in[k] == shown) return {y.tape, shown};
    }
  }
  return {};
}

}  // namespace gradual::detail
