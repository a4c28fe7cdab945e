#pragma once
#include <gradual/check/derivatives.hpp>
#include <gradual/check/special_values.hpp>

namespace gradual::check {

template <class Op>
inline constexpr bool differentiable = requires { &Op::vjp; };

/// Whether an op declares what its checks need. Its derivative: the domain of a scalar functor, calls where shapes matter, or
/// the op whose derivative it is part of. Its special values, where it has a functor of its elements.
template <class Op>
concept Swept =
    (!differentiable<Op> || requires { Op::domain; } || requires(DerivativeCheck& check) { Op::sweep(check); } ||
     requires { typename Op::AdjointOf; }) &&
    (op_info<Op>.kind != Kind::map || says_special_values<Op>() || requires(DerivativeCheck& check) { Op::sweep(check); });

/// Checks the derivative rule of a map op by finite differences, over its own domain, for equal and repeated operands.
template <class Op>
void sweep_op(DerivativeCheck& sweep) {
  static_assert(differentiable<Op>, "an op without a derivative rule");
  const Function apply = apply_op<Op>;
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

/// Checks an op's derivative rule and, where it states any, its special values, for tests of one's own:
/// `EXPECT_TRUE(test_op<MyOp>().mistakes.empty())`.
template <class Op>
check::DerivativeCheck test_op() {
  check::DerivativeCheck result;
  check::sweep_op<Op>(result);
  if constexpr (requires { Op::specials; }) {
    check::SpecialValuesCheck<float> special;
    special.template run<Op>();
    result.mistakes.insert(result.mistakes.end(), special.mistakes.begin(), special.mistakes.end());
  }
  return result;
}

}  // namespace gradual
