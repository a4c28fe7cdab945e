#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Whether both operands are float, or both double; where not, the tape fails with what they are.
[[gnu::cold]] constexpr bool numbers_of_one_type(const char* op, Var a, Var b) {
  if (a.dtype() == b.dtype() && a.dtype() != DType::i32) return true;
  a.tape->fail<TypeError>(Message() << op << ": operands of " << name_of(a.dtype()) << " and " << name_of(b.dtype())
                                    << a.tape->in_layer({a, b}).view());
  return false;
}

}  // namespace gradual
