#pragma once
#include <functional>
#include <vector>

#include <gradual/autodiff/elementwise.hpp>

namespace gradual::op_checks {

/// A function of Vars, as written in a model.
using Function = std::function<Var(std::vector<Var>)>;

/// Applies an op with a scalar functor, as such a function.
template <class Op>
Var apply_op(std::vector<Var> in) {
  if constexpr (Op::arity == 1) return elementwise<Op>(in[0]);
  else if constexpr (Op::arity == 2) return elementwise<Op>(in[0], in[1]);
  else return elementwise<Op>(in[0], in[1], in[2]);
}

}  // namespace gradual::op_checks
