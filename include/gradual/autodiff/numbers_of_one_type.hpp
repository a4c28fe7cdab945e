#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// Converts both operands to float in backward if one is float and the other has 16 bits: values made of a sum over samples
/// stay as wide as that sum.
constexpr void meet_in_float(Var& a, Var& b) {
  if (!a.tape->in_backward || a.dtype() == b.dtype()) return;
  if (computed_in(a.dtype()) != DType::f32 || computed_in(b.dtype()) != DType::f32) return;
  a = convert(a, DType::f32);
  b = convert(b, DType::f32);
}

/// Makes the tape fail for operands of two types.
[[gnu::cold]] constexpr Var refuse_types(Tape& tape, const char* op, DType a, DType b, const Message& in_layer) {
  Message text;
  text << op << ": unsupported operand types " << name_of(a) << " and " << name_of(b) << in_layer.view();
  if (a != b && (a == DType::i32 || b == DType::i32)) text << ": convert integers to float first";
  else if (a != b && tape.real == DType::f64)
    text << "; a net with an input of double has parameters in double: use convert(x, DType::f64)";
  return tape.fail<TypeError>(text);
}

/// Makes the tape fail for integers where floats are required.
[[gnu::cold]] constexpr Var refuse_integers(const char* op, const Var* operands, int count) {
  Tape& tape = *operands->tape;
  return tape.fail<TypeError>(Message() << op << ": integer operands can only be compared, not computed with"
                                        << tape.in_layer(operands, count).view()
                                        << ": convert them to float first; compute indices in the data");
}

/// Makes the tape fail for numbers in a type that an op of one's own does not take.
[[gnu::cold]] constexpr Var refuse_type_of_op(const OpInfo& op, Var x) {
  return x.tape->fail<TypeError>(Message() << op.name << ": its apply takes no " << name_of(computed_in(x.dtype())), {x});
}

/// Checks that both operands are floating-point numbers of one type; if not, the tape fails and names their types.
constexpr bool numbers_of_one_type(const char* op, Var& a, Var& b) {
  meet_in_float(a, b);
  if (a.dtype() == b.dtype() && a.dtype() != DType::i32) return true;
  refuse_types(*a.tape, op, a.dtype(), b.dtype(), a.tape->in_layer({a, b}));
  return false;
}

}  // namespace gradual
