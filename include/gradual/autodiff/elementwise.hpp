#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// The shape that both operands are repeated to, aligned at the last axis; NumPy's rule.
[[gnu::cold]] constexpr Shape broadcast_shape(Tape& tape, const char* op, const Shape& a, const Shape& b) {
  Shape result;
  result.rank = a.rank > b.rank ? a.rank : b.rank;
  for (int i = 0; i < result.rank; ++i) {
    int ia = i - (result.rank - a.rank), ib = i - (result.rank - b.rank);
    std::int64_t ea = ia < 0 ? 1 : a.extent[ia], eb = ib < 0 ? 1 : b.extent[ib];
    bool batched_a = ia >= 0 && ia == a.batch_axis, batched_b = ib >= 0 && ib == b.batch_axis;
    bool one_a = ea == 1 && !batched_a, one_b = eb == 1 && !batched_b;
    if (!one_a && !one_b && (ea != eb || batched_a != batched_b))
      tape.fail(Message() << op << ": shapes " << a << " and " << b << " do not broadcast at axis " << i);
    result.extent[i] = one_a ? eb : ea;
    if (batched_a || batched_b) result.batch_axis = i;
  }
  return result;
}

/// Records a map op: operands are repeated to a common shape; comparisons of integers give float.
template <class Op, class... V>
[[gnu::cold]] constexpr Var elementwise(V... operand) {
  Var operands[] = {operand...};
  for (Var v : operands)
    if (!v.valid()) return {};
  Tape& tape = *operands[0].tape;
  Shape shape = operands[0].shape();
  for (Var v : operands) {
    if (v.tape != &tape) return tape.fail(Message() << Op::name << ": operands belong to different tapes");
    if (!(shape == v.shape())) shape = broadcast_shape(tape, Op::name, shape, v.shape());
  }
  if (!tape.error.empty()) return {};
  for (Var& v : operands) v = broadcast(v, shape);
  DType dtype = operands[sizeof...(V) - 1].dtype();
  for (std::size_t i = sizeof...(V) == 3 ? 1 : 0; i < sizeof...(V); ++i)  // a condition's type is its own
    if (operands[i].dtype() != dtype)
      return tape.fail(Message() << Op::name << ": operands of " << name_of(operands[i].dtype()) << " and " << name_of(dtype));
  if constexpr (requires { Op::compares; }) {
    if (dtype == DType::i32) dtype = DType::f32;
  } else if (dtype == DType::i32) {
    return tape.fail(Message() << Op::name << ": integer operands are only compared, not computed with");
  }
  if constexpr (sizeof...(V) == 1) return tape.record(op_info<Op>, {operands[0]}, shape, dtype);
  else if constexpr (sizeof...(V) == 2) return tape.record(op_info<Op>, {operands[0], operands[1]}, shape, dtype);
  else return tape.record(op_info<Op>, {operands[0], operands[1], operands[2]}, shape, dtype);
}

}  // namespace gradual
