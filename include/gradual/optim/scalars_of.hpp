#pragma once
#include <optional>
#include <vector>

#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/simplify.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

namespace detail {

/// Whether two nodes compute the same of their operands. Scalars of a rule may have other places.
inline bool same_step(const Node& a, const Node& b) {
  const auto is_of_rule = [](const Node& node) {
    return is_input(node, Input::scalar) && node.attributes.integer[0] >= rule_scalars;
  };
  if (!(a.shape == b.shape)) return false;
  return is_of_rule(a) && is_of_rule(b) ? a.dtype == b.dtype : same_op(a, b);
}

[[noreturn, gnu::cold]] inline void refuse_rule() {
  throw OptionError(
      "an update rule records something else with these numbers than with its defaults, by which it is compiled: its numbers "
      "must be Scalars, and choices must be made by where");
}

}  // namespace detail

/// The numbers of a rule in the places where the program of its type, recorded by the compiler, reads them. In which order
/// the operands of an expression are recorded is the compiler's choice, and may be another at run time: numbers are paired
/// by what becomes of them. `recorded`: the rule with its numbers. Nothing where that is another program.
template <Counts C>
[[gnu::cold]] std::optional<std::vector<Scalar>> find_scalars(const Graph<C>& program, const Tape& recorded) {
  const Tape tape = simplify(recorded);
  std::vector<Scalar> scalars(tape.scalars.size(), Scalar(0.0));
  std::vector<int> twin(static_cast<std::size_t>(C.nodes), -1);  // by node of the program: the same one on the tape
  if (tape.roots.size() != static_cast<std::size_t>(C.roots)) return {};
  for (int r = 0; r < C.roots; ++r)
    twin[static_cast<std::size_t>(program.roots[r].node)] = tape.roots[static_cast<std::size_t>(r)].node;
  for (int i = C.nodes - 1; i >= 0; --i) {
    if (twin[static_cast<std::size_t>(i)] < 0) continue;
    const Node &node = program.nodes[i], &other = tape[twin[static_cast<std::size_t>(i)]];
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

/// The same. Errors: OptionError where it is another program.
template <Counts C>
[[gnu::cold]] std::vector<Scalar> scalars_of(const Graph<C>& program, const Tape& recorded) {
  std::optional<std::vector<Scalar>> scalars = find_scalars(program, recorded);
  if (!scalars) detail::refuse_rule();
  return std::move(*scalars);
}

}  // namespace gradual
