#pragma once
#include <gradual/check/derivatives.hpp>
#include <gradual/check/special_values.hpp>

namespace gradual::op_checks {

/// Whether an op declares what its checks need. For its derivative: the domain of a scalar functor, calls where shapes matter,
/// or the op whose derivative it is part of. For its values: special values, if it has an elementwise functor.
template <class Op>
concept Swept =
    (!detail::Differentiable<Op> || requires { Op::domain; } || requires(DerivativeCheck& check) { Op::sweep(check); } ||
     requires { typename Op::AdjointOf; }) &&
    (op_info<Op>.kind != Kind::map || says_special_values<Op>() || requires(DerivativeCheck& check) { Op::sweep(check); });

/// Checks the values of a map op in float, over its own domain, and its derivative rule by finite differences: for a number, no
/// element, one element, the size of a vector and one more or less, for operands that are broadcast along axes, and for the
/// same operand in each place.
template <class Op>
void sweep_op(DerivativeCheck& sweep) {
  static_assert(detail::Differentiable<Op>, "an op without a derivative rule");
  sweep.values(op_info<Op>, Op::domain);
  const auto run = [&, before = sweep.mistakes.size()](const Operands& operands, const Function& f = apply_op<Op>) {
    if (sweep.mistakes.size() == before) sweep.run(Op::name, f, operands, Op::domain);  // otherwise most other shapes fail too
  };
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{15}, Shape{16}, Shape{17}})
    run(Operands(Op::arity, Operand(shape)));
  const Shape samples = Shape::per_sample({2});
  if constexpr (Op::arity == 2) {
    run({{3, 1}, {1, 4}});
    run({Shape{}, {2, 3}});
    run({samples, {2}});
    run({Shape::per_sample({2, 3}), {3}});
    run({{0, 1}, {1, 3}});
  } else if constexpr (Op::arity == 3) {
    run({{2, 1}, {3}, Shape{}});
    run({{2}, samples, {1}});
  }
  if constexpr (Op::arity > 1)
    run({Operand{7}}, [](auto in) { return apply_op<Op>(std::vector<Var>(Op::arity, in[0])); });
}

}  // namespace gradual::op_checks

namespace gradual {

/// Checks an op's derivative rule, also at special places of its domain, its values in float and, if it declares any, its
/// special values, for user-written tests:
/// `const auto check = test_op<MyOp>(); EXPECT_TRUE(check.mistakes.empty()) << check;`.
template <class Op>
op_checks::DerivativeCheck test_op() {
  op_checks::DerivativeCheck result;
  op_checks::sweep_op<Op>(result);
  for (std::uint64_t round = 1; round <= 16 && result.mistakes.empty(); ++round)
    result.run(Op::name, op_checks::apply_op<Op>, op_checks::Operands(Op::arity, {17}), Op::domain, round);
  if constexpr (requires { Op::specials; }) {
    op_checks::SpecialValuesCheck<float> special;
    special.template run<Op>();
    result.mistakes.insert(result.mistakes.end(), special.mistakes.begin(), special.mistakes.end());
  }
  return result;
}

/// Checks the derivatives of a function of Vars, for operands of these shapes, by differences in first and second order, and
/// its values and gradients in float and when run eagerly: for example of a `with_vjp` rule that is meant to be the true
/// derivative. A derivative that differs on purpose is reported as a mistake.
/// `const auto check = test_function("length", [](auto in) { return length(in[0]); }, {Shape::per_sample({3})});`
inline op_checks::DerivativeCheck test_function(const std::string& name, const op_checks::Function& f,
                                                const op_checks::Operands& operands,
                                                const Domain& domain = op_checks::anywhere) {
  op_checks::DerivativeCheck result;
  for (std::uint64_t round = 0; round <= 16 && result.mistakes.empty(); ++round) result.run(name, f, operands, domain, round);
  return result;
}

}  // namespace gradual
