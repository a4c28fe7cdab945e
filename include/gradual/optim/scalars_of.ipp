#pragma once
#include <gradual/optim/scalars_of.hpp>

#include <utility>

#include <gradual/autodiff/simplify.hpp>
#include <gradual/optim/update.hpp>
#include <gradual/optim/update_by_element.hpp>

namespace gradual {

namespace detail {

GRADUAL_ONCE void refuse_rule() {
  throw OptionError(
      "an update rule records other ops with these numbers than with its defaults, with which it is compiled: its numbers "
      "must be Scalars, and choices must be made by where(...)");
}

/// Returns whether two nodes apply the same op to their operands. Scalars of a rule may have other places.
inline bool same_step(const Node& a, const Node& b) {
  const auto is_of_rule = [](const Node& node) {
    return is_input(node, Input::scalar) && node.attributes.integer[0] >= rule_scalars;
  };
  if (!(a.shape == b.shape)) return false;
  return is_of_rule(a) && is_of_rule(b) ? a.dtype == b.dtype : same_op(a, b);
}

}  // namespace detail

GRADUAL_ONCE std::optional<std::vector<Scalar>> find_scalars(const ProgramTables& program, const Tape& recorded) {
  const Tape tape = simplify(recorded);
  if (tape.roots.size() != program.roots.size()) return {};
  std::vector<Scalar> scalars(tape.scalars.size(), Scalar(0.0));
  std::vector<int> twin(program.nodes.size(), -1);  // by node of the program: the corresponding one on the tape
  for (std::size_t r = 0; r < program.roots.size(); ++r)
    twin[static_cast<std::size_t>(program.roots[r].node)] = tape.roots[r].node;
  for (std::size_t i = program.nodes.size(); i-- > 0;) {
    if (twin[i] < 0) continue;
    const Node &node = program.nodes[i], &other = tape[twin[i]];
    if (!detail::same_step(node, other)) return {};
    for (int k = 0; k < node.op->arity; ++k) {
      int& operand = twin[static_cast<std::size_t>(node.in[k])];
      if (operand >= 0 && operand != other.in[k]) return {};
      operand = other.in[k];
    }
    if (!is_input(node, Input::scalar)) continue;
    const auto place = static_cast<std::size_t>(node.attributes.integer[0]),
               from = static_cast<std::size_t>(other.attributes.integer[0]);
    if (place >= scalars.size()) return {};
    scalars[place] = tape.scalars[from];
  }
  return scalars;
}

GRADUAL_ONCE std::optional<std::vector<Scalar>> find_scalars_by_element(const ProgramTables& program, const Tape& recorded) {
  return find_scalars(program, detail::with_elements_as_samples(recorded));
}

GRADUAL_ONCE std::vector<Scalar> scalars_of(const ProgramTables& program, const Tape& recorded) {
  std::optional<std::vector<Scalar>> scalars = find_scalars(program, recorded);
  if (!scalars) detail::refuse_rule();
  return std::move(*scalars);
}

}  // namespace gradual
