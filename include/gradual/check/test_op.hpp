#pragma once
#include <gradual/check/derivatives.hpp>
#include <gradual/check/special_values.hpp>

namespace gradual::op_checks {

template <class Op>
inline constexpr bool differentiable = requires { &Op::vjp; };

/// Whether an op declares what its checks need. Its derivative: the domain of a scalar functor, calls where shapes matter, or
/// the op whose derivative it is part of. Its special values, where it has a functor of its elements.
template <class Op>
concept Swept =
    (!differentiable<Op> || requires { Op::domain; } || requires(DerivativeCheck& check) { Op::sweep(check); } ||
     requires { typename Op::AdjointOf; }) &&
    (op_info<Op>.kind != Kind::map || says_special_values<Op>() || requires(DerivativeCheck& check) { Op::sweep(check); });

/// Checks the values of a map op in float, over its own domain, and its derivative rule by finite differences: for one
/// number, nothing, one element, as many as a vector has and one more or less, for operands that are repeated along axes, and
/// for one operand in each place.
template <class Op>
void sweep_op(DerivativeCheck& sweep) {
  static_assert(differentiable<Op>, "an op without a derivative rule");
  const Function apply = apply_op<Op>;
  sweep.values(op_info<Op>, Op::domain);
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{15}, Shape{16}, Shape{17}})
    sweep.run(Op::name, apply, Operands(Op::arity, Operand(shape)), Op::domain);
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
  if constexpr (Op::arity > 1)
    sweep.run(Op::name, [](auto in) { return apply_op<Op>(std::vector<Var>(Op::arity, in[0])); }, {Operand{7}}, Op::domain);
}

}  // namespace gradual::op_checks

namespace gradual {

/// Checks an op's derivative rule, its values in float and, where it states any, its special values, for tests of one's own:
/// `EXPECT_TRUE(test_op<MyOp>().mistakes.empty())`.
template <class Op>
op_checks::DerivativeCheck test_op() {
  op_checks::DerivativeCheck result;
  op_checks::sweep_op<Op>(result);
  if constexpr (requires { Op::specials; }) {
    op_checks::SpecialValuesCheck<float> special;
    special.template run<Op>();
    result.mistakes.insert(result.mistakes.end(), special.mistakes.begin(), special.mistakes.end());
  }
  return result;
}

}  // namespace gradual
