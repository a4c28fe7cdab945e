#pragma once
#include <gradual/optim/by_parameter.hpp>
#include <gradual/optim/update_place.hpp>

namespace gradual::detail {

/// Returns whether an update, a tape or a program's tables, consists of numbers and of rows computed element by element.
template <class Recorded>
constexpr bool is_elementwise(const Recorded& update) {
  const auto node_at = [&](int i) -> const Node& { return update.nodes[static_cast<std::size_t>(i)]; };
  const Shape& row = update.inputs[0].shape;
  const DType dtype = update.inputs[0].dtype;
  const int arrays = array_count(
      {.parameters = static_cast<int>(update.parameters.size()), .inputs = static_cast<int>(update.inputs.size())});
  bool result = true;
  for (const Node& node : update.nodes) {
    const Kind kind = node.op->kind;
    const bool scalar = is_input(node, Input::scalar);
    result = result && (node.shape.rank == 0 || (node.shape == row && node.dtype == dtype)) &&
             (scalar || kind == Kind::constant || (kind == Kind::input && node.attributes.integer[0] < arrays) ||
              (kind == Kind::map && !is<ReplacePart>(node)) ||
              (kind == Kind::broadcast && node_at(node.in[0]).shape.rank == 0));
  }
  for (const Root& root : update.roots) result = result && root.index < arrays && node_at(root.node).shape == row;
  return result;
}

}  // namespace gradual::detail
