#pragma once
#include <gradual/autodiff/ops/convert.hpp>

namespace gradual {

/// A value that the caller provides: `integer[0]` is its index, `integer[1]` its family.
struct Input {
  static constexpr const char* name = "input";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::input;
  enum Family : std::int64_t { sample, parameter, scalar };
};

constexpr bool is_input(const Node& node, Input::Family family) {
  return node.op->kind == Kind::input && node.attributes.integer[1] == family;
}

inline constexpr std::int64_t loss_scale_slot = -1;  ///< of the scalar that a loss is multiplied by, beside those of `value_of`

/// Declares a batch of samples. Shapes are those of `Shape::per_sample`.
constexpr Var input(Tape& tape, const Shape& shape, DType dtype) {
  const Attributes attributes{.integer = {static_cast<std::int64_t>(tape.inputs.size()), Input::sample}};
  tape.inputs.push_back({shape, dtype});
  return tape.record(op_info<Input>, {}, shape, dtype, attributes);
}

/// Returns the value of a declared parameter, the same node each time. Errors: TapeError for an index that the tape lacks.
constexpr Var parameter(Tape& tape, int index) {
  const auto slot = static_cast<std::size_t>(index);
  if (slot >= tape.parameters.size())
    return tape.fail<TapeError>(Message() << "parameter " << index << " is not one of the "
                                          << static_cast<int>(tape.parameters.size())
                                          << " on this tape: it was declared later, or elsewhere");
  if (tape.parameter_nodes.size() <= slot) tape.parameter_nodes.resize(slot + 1, -1);
  if (tape.parameter_nodes[slot] >= 0) return {&tape, tape.parameter_nodes[slot]};
  const Attributes attributes{.integer = {index, Input::parameter}};
  Var v = tape.record(op_info<Input>, {}, tape.parameters[slot].shape, tape.real, attributes);
  if (!v.valid()) return v;
  tape[v.id].layer = index;
  tape.parameter_nodes[slot] = v.id;
  return v;
}

/// Returns a number known only when the program runs, such as a learning rate, on the tape of `like`.
constexpr Var value_of(const Scalar& scalar, Var like) {
  if (!like.valid()) return {};
  const Attributes attributes{.integer = {static_cast<std::int64_t>(like.tape->scalars.size()), Input::scalar}};
  like.tape->scalars.push_back(scalar);
  return convert(like.tape->record(op_info<Input>, {}, Shape{}, computed_in(like.dtype()), attributes), like.dtype());
}
constexpr Var operator*(const Scalar& a, Var b) { return value_of(a, b) * b; }
constexpr Var operator*(Var a, const Scalar& b) { return a * value_of(b, a); }
constexpr Var operator+(Var a, const Scalar& b) { return a + value_of(b, a); }

}  // namespace gradual
