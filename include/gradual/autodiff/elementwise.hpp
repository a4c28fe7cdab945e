#pragma once
#include <gradual/autodiff/numbers_of_one_type.hpp>

namespace gradual {

/// Returns the shape that both broadcast to, aligned at the last axis (NumPy's rule). If there is none, writes the reason to
/// `error`, if that is empty; the result is then meaningless.
constexpr Shape broadcast_shape(const Shape& a, const Shape& b, Message& error) {
  Shape result;
  result.rank = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 0; i < result.rank; ++i) {
    int ia = i - (result.rank - a.rank), ib = i - (result.rank - b.rank);
    std::int64_t ea = ia < 0 ? 1 : a.extent[ia], eb = ib < 0 ? 1 : b.extent[ib];
    bool batched_a = ia >= 0 && ia == a.batch_axis, batched_b = ib >= 0 && ib == b.batch_axis;
    bool one_a = ea == 1 && !batched_a, one_b = eb == 1 && !batched_b;
    if (!one_a && !one_b && (ea != eb || batched_a != batched_b) && error.empty()) {
      error << "shapes " << a << " and " << b << " do not broadcast at axis " << i;
      if (batched_a != batched_b && a.batched() && b.batched())
        error << ", the sample axis of only one: reshape that one, or keep the axes that were summed";
    }
    result.extent[i] = one_a ? eb : ea;
    if (!batched_a && !batched_b) continue;
    if (result.batch_axis >= 0 && error.empty())
      error << "shapes " << a << " and " << b << " would pair each sample with every other: reshape one of them";
    result.batch_axis = i;
  }
  return result;
}

struct Where;

namespace detail {
inline constexpr std::uint64_t where_id = type_hash<Where>();

/// Records any map op; one function, so that a program holds it once.
template <class = void>  // so that gradual::kernels can have the code
[[gnu::noinline]] constexpr Var record_map(const OpInfo& op, Var* operands, int count) {
  if (!given(op.name, operands, count)) return {};
  Tape& tape = *operands[0].tape;
  Shape shape = operands[0].shape();
  bool one_shape = true;
  for (int i = 1; i < count; ++i)
    if (const Shape& other = operands[i].node().shape; !(shape == other)) {
      one_shape = false;
      Message error;
      shape = broadcast_shape(shape, other, error);
      if (!error.empty())
        return tape.fail(Message() << op.name << ": " << error.view() << tape.in_layer(operands, count).view());
    }
  if (count > 1) meet_in_float(operands[count - 2], operands[count - 1]);
  for (int i = 0; i < count && !one_shape; ++i) operands[i] = broadcast(operands[i], shape);
  DType dtype = operands[count - 1].dtype();
  for (int i = op.id == where_id ? 1 : 0; i < count; ++i)  // a condition's type is its own
    if (operands[i].dtype() != dtype)
      return refuse_types(tape, op.name, operands[i].dtype(), dtype, tape.in_layer(operands, count));
  const bool compares = dtype == DType::i32 && count > 1;
  if (dtype == DType::i32) {
    if (!op.takes_integers) return refuse_integers(op.name, operands, count);
    dtype = DType::f32;
  } else if (!(dtype == DType::f64 ? op.takes_doubles : op.takes_floats)) {
    return refuse_type_of_op(op, operands[count - 1]);
  }
  const Var made = tape.record(op, operands, count, shape, dtype);
  return compares ? convert(made, tape.real) : made;
}
template <class Op, std::size_t... K>
constexpr bool applies(std::index_sequence<K...>) {
  return requires { Op::apply((static_cast<void>(K), 1.0f)...); } || requires { Op::apply((static_cast<void>(K), 1.0)...); };
}
}  // namespace detail

/// Records a map op: operands are broadcast to a common shape; comparisons of integers give float, or double in a net of
/// doubles. Errors: ShapeError for shapes that do not broadcast; TypeError for types that differ, or for computing with
/// integers, or in a type that the op's `apply` does not take; TapeError for operands of two tapes.
template <class Op, class... V>
constexpr Var elementwise(V... operand) {
  static_assert(sizeof...(V) == Op::arity, "elementwise<Op> takes as many values as the op's arity");
  static_assert(detail::applies<Op>(std::make_index_sequence<Op::arity>{}), "an op's apply takes as many numbers as its arity");
  Var operands[] = {operand...};
  return detail::record_map(op_info<Op>, operands, sizeof...(V));
}

}  // namespace gradual
