#pragma once
#include <gradual/check/derivatives.hpp>

namespace gradual::check {

template <class Op>
inline constexpr bool differentiable = requires { &Op::vjp; };

/// Checks the derivative rule of a map op by finite differences, over its own domain, for equal and repeated operands.
template <class Op>
void sweep_op(DerivativeCheck& sweep) {
  static_assert(differentiable<Op>, "an op without a derivative rule");
  const Function apply = [](std::vector<Var> in) {
    if constexpr (Op::arity == 1) return elementwise<Op>(in[0]);
    else if constexpr (Op::arity == 2) return elementwise<Op>(in[0], in[1]);
    else return elementwise<Op>(in[0], in[1], in[2]);
  };
  sweep.run(Op::name, apply, Operands(Op::arity, Operand{7}), Op::domain);
  const Shape samples = Shape::per_sample({2});
  if constexpr (Op::arity == 2) {
    sweep.run(Op::name, apply, {{3, 1}, {1, 4}}, Op::domain);
    sweep.run(Op::name, apply, {Shape{}, {2, 3}}, Op::domain);
    sweep.run(Op::name, apply, {samples, {2}}, Op::domain);
    sweep.run(Op::name, apply, {Shape::per_sample({2, 3}), {3}}, Op::domain);
    sweep.run(Op::name, apply, {{0, 1}, {1, 3}}, Op::domain);
  } else if constexpr (Op::arity == 3) {
    sweep.run(Op::name, apply, {{2, 1}, {3}, Shape{}}, Op::domain);
    sweep.run(Op::name, apply, {{2}, samples, {1}}, Op::domain);
  }
}

}  // namespace gradual::check

namespace gradual {

/// Checks an op's derivative rule, for tests of one's own: `EXPECT_TRUE(test_op<MyOp>().mistakes.empty())`.
template <class Op>
check::DerivativeCheck test_op() {
  check::DerivativeCheck result;
  check::sweep_op<Op>(result);
  return result;
}

}  // namespace gradual
