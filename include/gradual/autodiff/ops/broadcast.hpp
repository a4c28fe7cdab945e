#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// Repeats its operand to a larger shape, aligned at the last axis. Derivative: the sum over what was repeated.
struct Broadcast {
  static constexpr const char* name = "broadcast";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::broadcast;
  static constexpr Var vjp(Var g, Var x, Var) { return reduce_to(g, x.shape()); }
};

constexpr Var broadcast(Var x, const Shape& shape) {
  if (!x.valid() || x.shape() == shape) return x;
  if (x.tape->nodes[static_cast<std::size_t>(x.id)].op->kind == Kind::constant) {
    Var repeated = constant_like(x, x.attributes().number[0]);
    (*x.tape)[repeated.id].shape = shape;
    return repeated;
  }
  return x.tape->record(op_info<Broadcast>, {x}, shape, x.dtype());
}

}  // namespace gradual
