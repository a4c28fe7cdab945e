#pragma once
#include <gradual/autodiff/ops/dropout.hpp>

namespace gradual::detail {

/// Returns noise in the shape and type of x, or its mean in evaluation; `which` tells the kinds of noise of the same x apart.
template <class Noise>
constexpr Var noise_like(const char* name, double which, Var x) {
  if (!given(name, {x})) return {};
  Tape& tape = *x.tape;
  if (x.dtype() == DType::i32)
    return tape.fail<TypeError>(Message() << name << ": needs floats, got int32", {x});
  if (x.shape().batch_axis > 0)
    return tape.fail(Message() << name << ": needs samples along the first axis, got " << x.shape(), {x});
  if (!tape.training) return constant_like(x, Noise::mean);
  return tape.record(op_info<Noise>, {}, x.shape(), x.dtype(), {.integer = {random_key(tape, x.id, which)}});
}

}  // namespace gradual::detail
