#pragma once
#include <vector>

#include <gradual/autodiff/ops/stop_gradient.hpp>

namespace gradual::detail {

/// By node: whether y is computed from it, other than by way of integers or of `stop_gradient`.
constexpr std::vector<char> sources_of(Var y) {
  std::vector<char> sources(static_cast<std::size_t>(y.id) + 1, 0);
  sources.back() = 1;
  for (int i = y.id; i >= 0; --i) {
    const Node& node = (*y.tape)[i];
    if (is<StopGradient>(node) || node.dtype == DType::i32) sources[static_cast<std::size_t>(i)] = 0;
    if (!sources[static_cast<std::size_t>(i)]) continue;
    for (int k = 0; k < node.op->arity; ++k) sources[static_cast<std::size_t>(node.in[k])] = 1;
  }
  return sources;
}

/// Whether two slices of one value have no place in common.
constexpr bool are_apart(const Node& a, const Node& b) {
  if (a.op->kind != Kind::slice || b.op->kind != Kind::slice) return false;
  const auto& [axis, first] = a.attributes.integer;
  const auto& [other_axis, other] = b.attributes.integer;
  return axis == other_axis && (first + a.shape.extent[axis] <= other || other + b.shape.extent[axis] <= first);
}

constexpr bool is_view(const Node& node) {
  const Kind kind = node.op->kind;
  return kind == Kind::slice || kind == Kind::reshape || kind == Kind::transpose || kind == Kind::broadcast;
}

/// What `view` shows and y is computed from without it, as where columns are sliced beside what a net is given: y's derivative
/// by the view is 0 then, whatever that by what it shows is. Not valid where y is computed from the view, or from other places
/// alone.
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
      for (int k = 0; k < node.op->arity; ++k)
        if (node.in[k] == shown) return {y.tape, shown};
    }
  }
  return {};
}

}  // namespace gradual::detail
