#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// The most operands that `with_vjp` takes in addition to its value.
inline constexpr int most_operands = 6;

/// A list for operands beyond those that a node holds, as the node's last operand: one more operand, and the rest. Its value is
/// that of the first, and it has no adjoint: backward gives adjoints to the operands in it.
struct OperandList {
  static constexpr const char* name = "operands";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::reshape;
  static constexpr bool differentiable = false;
};

namespace detail {
/// Returns the first operand that a node's value is differentiated by: a `with_vjp` passes nothing to operand 0.
constexpr int first_source(const Node& node) {
  return node.op->kind == Kind::reshape && node.op->arity > 1 && !is<OperandList>(node) ? 1 : 0;
}

/// Writes a node's operands, including those in a list, to `in`: at most 1 + `most_operands`; returns their number.
constexpr int read_operands(Tape& tape, const Node& node, Var* in) {
  int count = 0;
  for (; count < node.op->arity; ++count) in[count] = {&tape, node.in[count]};
  if (node.op->kind != Kind::reshape) return count;
  for (; is<OperandList>(tape[in[count - 1].id]); ++count) {
    const Node& list = tape[in[count - 1].id];
    in[count - 1] = {&tape, list.in[0]};
    in[count] = {&tape, list.in[1]};
  }
  return count;
}
}  // namespace detail

}  // namespace gradual
