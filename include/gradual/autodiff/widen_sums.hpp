#pragma once
#include <utility>
#include <vector>

#include <gradual/autodiff/ops/input.hpp>

namespace gradual {

/// Returns the tape of a training step with sums wider than their terms: sums over samples, the window's weight and everything
/// made of them are double; other operands are converted, and so are gradients that no sample enters.
constexpr Tape widen_sums(Tape tape) {
  if (!tape.error.empty()) return tape;
  const std::vector<Node> nodes = std::move(tape.nodes);
  const int first_adjoint = tape.first_adjoint;
  std::vector<int> moved(nodes.size(), -1), widened(nodes.size(), -1);
  std::vector<char> of_sums(nodes.size());
  tape.nodes.clear();
  const auto wide = [&](int from) {
    int& found = widened[static_cast<std::size_t>(from)];
    const int to = moved[static_cast<std::size_t>(from)];
    if (found < 0) found = computed_in(tape[to].dtype) == DType::f32 ? convert({&tape, to}, DType::f64).id : to;
    return found;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (static_cast<int>(i) == first_adjoint) tape.first_adjoint = tape.size();
    Node node = nodes[i];
    const bool is_weight = is_input(node, Input::scalar) && node.attributes.integer[0] != loss_scale_slot;
    bool widens = false;
    for (int k = 0; k < node.op->arity; ++k) widens = widens || of_sums[static_cast<std::size_t>(node.in[k])] != 0;
    of_sums[i] = is_sample_sum(node.op->kind) || is_weight || widens;
    if (of_sums[i] != 0 && computed_in(node.dtype) == DType::f32) node.dtype = DType::f64;
    for (int k = 0; k < node.op->arity; ++k)
      node.in[k] = widens ? wide(node.in[k]) : moved[static_cast<std::size_t>(node.in[k])];
    moved[i] = tape.size();
    tape.nodes.push_back(node);
  }
  for (Root& root : tape.roots)
    root.node = root.role == Role::gradient ? wide(root.node) : moved[static_cast<std::size_t>(root.node)];
  for (Tap& tap : tape.taps) tap.node = moved[static_cast<std::size_t>(tap.node)];
  tape.parameter_nodes.clear();
  return tape;
}

}  // namespace gradual
