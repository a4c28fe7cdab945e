#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// Repeats its operand to a larger shape, aligned at the last axis. Derivative: the sum over what was repeated.
struct Broadcast {
  static constexpr const char* name = "broadcast";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::broadcast;
  static constexpr Var vjp(Var g, Var x, Var) { return reduce_to(g, x.shape()); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("broadcast", [](auto in) { return square(broadcast(in[0], Shape{2, 3, 4})); }, {{3, 1}});
    for (const Shape& repeated : {Shape{4, 1, 3}, Shape{4, 1, 1}, Shape{1, 3}, Shape{}})
      check.run("repeated along samples that are not outermost",
                [](auto in) { return transpose(in[0], {1, 0, 2}) * in[1]; }, {Shape::per_sample({4, 3}), repeated});
    check.run("repeated along samples that are innermost",
              [](auto in) { return transpose(in[0], {1, 2, 0}) * in[1]; }, {Shape::per_sample({4, 3}), {4, 1, 1}});
    check.run("repeated along samples and an axis before them",
              [](auto in) { return transpose(in[0], {1, 2, 0, 3}) * in[1]; }, {Shape::per_sample({4, 2, 3}), {2, 1, 3}});
  }
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
