#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/equal.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// b where a is not 0, else c. The branch not chosen gets no adjoint, even where its value is not finite.
struct Where {
  static constexpr const char* name = "where";
  static constexpr int arity = 3;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{1, 2, special::nan}, 2, {0, 1, 0}}, {{0, special::nan, 3}, 3, {0, 0, 1}},
      {{-0.0, 1, special::inf}, special::inf, {0, 0, 1}}, {{special::least, 1, 3}, 1, {0, 1, 0}},
      {{special::nan, 2, 2}, 2, {0, 1, 0}}, {{2, 2, special::nan}, 2, {0, 1, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b, T c) {
    return math::select(math::unseen(a != T(0)), b, c);
  }
  static constexpr Adjoints<3> vjp(Var g, Var condition, Var, Var, Var) {
    return {{Var{}, where(condition, g, 0.0), where(condition, 0.0, g)}};
  }
};

constexpr Var where(Var condition, Var yes, Var no) {
  const bool wider = condition.valid() && no.valid() && condition.dtype() == DType::f64 && no.dtype() != DType::f64;
  if (wider)  // in the branches' type, small numbers would be 0
    return elementwise<Where>(convert(condition == 0.0, DType::f32), no, yes);
  return elementwise<Where>(condition, yes, no);
}

/// The numbers are in the condition's type or, where that is int32, in the type of parameters.
constexpr Var where(Var condition, double yes, double no) {
  if (!condition.valid()) return where(condition, Var{}, Var{});
  Tape& tape = *condition.tape;
  const DType type = condition.dtype() == DType::i32 ? tape.real : condition.dtype();
  const auto number = [&](double value) {
    return tape.record(op_info<Constant>, {}, condition.shape(), type, {.number = value});
  };
  const Var chosen = number(yes);
  return where(condition, chosen, number(no));
}

}  // namespace gradual
