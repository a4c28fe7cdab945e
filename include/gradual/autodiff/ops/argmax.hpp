#pragma once
#include <gradual/autodiff/ops/reduce.hpp>

namespace gradual {

/// Index of the first largest element of a trailing axis, as int32; NaN counts as largest. Not differentiable.
struct ArgMax {
  static constexpr const char* name = "argmax";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  static constexpr Kind kind = Kind::row_reduce;
};

/// Returns the index of the first largest element over `axis`, which the result lacks. Errors: those of `max`.
constexpr Var argmax(Var x, int axis) {
  if (!detail::given(ArgMax::name, {x})) return {};
  return reduce_some<ArgMax>(x, &axis, 1, false, DType::i32);
}

}  // namespace gradual
