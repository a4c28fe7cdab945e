#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/optim/update_place.hpp>

namespace gradual {

namespace detail {

/// A row over all parameters with the part of parameter `integer[0]` replaced by the second operand. No kernel computes it:
/// `Parts` looks through it, one parameter at a time.
struct ReplacePart {
  static constexpr const char* name = "by_parameter";
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
};

/// Rows over all parameters as seen within one parameter: in its own shape or, if made of a state of another shape, in that
/// shape. Elementwise computations are recorded again for the part, down to the part of an input; computations of numbers are
/// shared.
class Parts {
 public:
  constexpr Parts(Tape& tape, int parameter) : tape_(&tape), parameter_(parameter) {}

  constexpr Var of(Var row) { return row.valid() ? of(row, shape(row)) : Var{}; }
  /// Returns the shape of a row's part: that of the same part of the input from which the row is computed.
  constexpr Shape shape(Var row) const {
    const int input = input_below(row.id);
    return tape_->inputs[static_cast<std::size_t>(part_of(input < 0 ? 0 : (*tape_)[input].attributes.integer[0]))].shape;
  }

 private:
  /// Returns the place of this parameter's part of an array.
  constexpr int part_of(std::int64_t array) const {
    return update_index({static_cast<int>(array), parameter_}, array_count(count(*tape_)));
  }

  /// Returns the first input over all parameters from which a row is computed, or −1.
  constexpr int input_below(int row) const {
    const Node& node = (*tape_)[row];
    if (node.shape.rank == 0) return -1;
    if (node.op->kind == Kind::input) return row;
    for (int k = 0; node.op->kind == Kind::map && k < node.op->arity; ++k)
      if (const int found = input_below(node.in[k]); found >= 0) return found;
    return -1;
  }

  constexpr Var of(Var row, const Shape& shape) {
    for (; row.valid() && is<ReplacePart>(row.node()); row = operand(row.node(), 0))
      if (row.attributes().integer[0] == parameter_) return operand(row.node(), 1);
    if (!row.valid() || row.shape().rank == 0) return row;
    for (const Known& known : known_)
      if (known.row == row.id) return {tape_, known.part};
    const Var part = record((*tape_)[row.id], shape);
    if (part.valid()) known_.push_back({row.id, part.id});
    return part;
  }
  constexpr Var operand(const Node& node, int k) const { return {tape_, node.in[k]}; }

  constexpr Var record(const Node node, const Shape& shape) {  // a copy: the tape grows
    Attributes attributes = node.attributes;
    switch (node.op->kind) {
      case Kind::input: {
        attributes.integer[0] = part_of(attributes.integer[0]);
        const Var part = tape_->record(*node.op, {}, shape, node.dtype, attributes);
        (*tape_)[part.id].layer = parameter_;
        return part;
      }
      case Kind::constant:
        return tape_->record(*node.op, {}, shape, node.dtype, attributes);
      case Kind::broadcast:
        if (operand(node, 0).shape().rank == 0) return broadcast(operand(node, 0), shape);
        break;
      case Kind::map: {
        Var in[3];
        for (int k = 0; k < node.op->arity; ++k) in[k] = of(operand(node, k), shape);
        return tape_->record(*node.op, in, node.op->arity, shape, node.dtype, attributes);
      }
      default:
        break;
    }
    return tape_->fail(Message() << "by_parameter: " << node.op->name << " over all parameters has no part for one parameter");
  }

  Tape* tape_;
  int parameter_;
  struct Known {
    int row, part;
  };
  std::vector<Known> known_;  // few: compilers are slow to clear an entry for each node
};

}  // namespace detail

/// For update rules: returns a row that holds, for each parameter, f(its parts of `row` and `rows`...). Parts have the
/// parameter's own shape, those of a state the shape that `state_shape` returns; f returns a value of the shape of its part of
/// `row`, or one number for all of it. Reductions inside f are over this parameter alone, row-major, in canonical order.
/// Errors: ShapeError for operands that are not rows over all parameters.
template <class F, class... More>
constexpr Var by_parameter(F f, Var row, More... rows) {
  if (!row.valid()) return {};
  Tape& tape = *row.tape;
  if (row.shape().rank != 1 || tape.parameters.empty())
    return tape.fail(Message() << "by_parameter: needs a row over all parameters, got " << row.shape());
  Var result = row;
  for (std::size_t p = 0; p < tape.parameters.size(); ++p) {
    detail::Parts parts(tape, static_cast<int>(p));
    const Var part = broadcast(f(parts.of(row), parts.of(rows)...), parts.shape(row));
    const Attributes attributes{.integer = {static_cast<std::int64_t>(p)}};
    result = tape.record(op_info<detail::ReplacePart>, {result, part}, row.shape(), row.dtype(), attributes);
  }
  return result;
}

/// Returns √Σx² of one parameter.
constexpr Var parameter_norm(Var part) {
  constexpr int axes[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static_assert(max_rank <= 8);
  if (!part.valid()) return {};
  return sqrt(reduce_axes<Sum>(part * part, axes, part.shape().rank, false, part.dtype()));
}
/// Returns, at each element, √Σx² of the parameter that it belongs to.
constexpr Var norm_by_parameter(Var row) { return by_parameter(parameter_norm, row); }

}  // namespace gradual
