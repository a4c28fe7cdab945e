#pragma once
#include <concepts>
#include <type_traits>

#include <gradual/autodiff/ops/reduce.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// The smallest element over trailing axes; NaN wins. Ties share the adjoint evenly.
struct Min {
  static constexpr const char* name = "min";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::row_reduce;
  static constexpr double identity = __builtin_huge_val();
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::select((a < b) | (a != a), a, b);
  }
  static constexpr Var vjp(Var g, Var x, Var y) { return share_among_equals(g, x, y); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("min", [](auto in) { return square(min(in[0], {0, 2})); }, {{2, 3, 2}});
    check.run("min per sample", [](auto in) { return square(min(in[0], {-1})); }, {Shape::per_sample({3})});
  }
};

/// Returns the smallest element over `axes`; NaN wins. Shapes and errors: those of `max`.
constexpr Var min(Var x, Axes axes, bool keep) {
  if (!detail::given(Min::name, {x})) return {};
  return reduce_some<Min>(x, axes.begin(), static_cast<int>(axes.size()), keep, x.dtype());
}

/// Does not compile, and says why.
template <class Other>
  requires std::same_as<Other, Var> || std::is_arithmetic_v<Other>
constexpr Var min(Var x, Other) {
  static_assert(!std::same_as<Other, Other>,
                "min reduces axes of one value, in braces: min(x, {1}); the smaller of two is minimum(a, b)");
  return x;
}

}  // namespace gradual
