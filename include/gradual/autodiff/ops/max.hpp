#pragma once
#include <concepts>
#include <type_traits>

#include <gradual/autodiff/ops/reduce.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// The largest element over trailing axes; NaN wins. Ties share the adjoint evenly.
struct Max {
  static constexpr const char* name = "max";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::row_reduce;
  static constexpr double identity = -__builtin_huge_val();
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select((a > b) | (a != a), a, b);
  }
  static constexpr Var vjp(Var g, Var x, Var y) { return share_among_equals(g, x, y); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("max", [](auto in) { return square(max(in[0], {1})); }, {{3, 4}});
    check.run("max of an inner axis", [](auto in) { return square(max(in[0], {1}, true)); }, {Shape::per_sample({3, 2})});
  }
};

/// Returns the largest element over `axes`; NaN wins. Shapes: those of `sum`. Errors: those of `sum`; an axis without elements.
constexpr Var max(Var x, Axes axes, bool keep) {
  if (!detail::given(Max::name, {x})) return {};
  return reduce_some<Max>(x, axes.begin(), static_cast<int>(axes.size()), keep, x.dtype());
}

/// Does not compile, and says why.
template <class Other>
  requires std::same_as<Other, Var> || std::is_arithmetic_v<Other>
constexpr Var max(Var x, Other) {
  static_assert(!std::same_as<Other, Other>,
                "max reduces axes of one value, in braces: max(x, {1}); the larger of two is maximum(a, b)");
  return x;
}

}  // namespace gradual
