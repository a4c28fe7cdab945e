#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// How many operands `with_vjp` may name beside its value.
inline constexpr int most_operands = 6;

/// Operands beyond those that a node holds: its last is then one operand and the rest. It has the value of the first, and no
/// adjoint: backward gives that to what stands in it.
struct OperandList {
  static constexpr const char* name = "operands";
  static constexpr int arity = 2;
  static constexpr Kind kind = Kind::reshape;
  static constexpr bool differentiable = false;
};

namespace detail {
/// Writes the operands of a node, which are 1 + `most_operands` at most, with those that stand in a list; returns how many.
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
