#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// a limited to b and c; NaN stays. At a limit the gradient goes to a.
struct Clamp {
  static constexpr const char* name = "clamp";
  static constexpr int arity = 3;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_ties = true};
  static constexpr Special specials[] = {
      {{-1, -1, 2}, -1, {1, 0, 0}}, {{2, -1, 2}, 2, {1, 0, 0}}, {{-special::least, 0, 1}, 0, {0, 1, 0}},
      {{special::after_one, 0, 1}, 1, {0, 0, 1}}, {{-special::inf, -1, 2}, -1, {0, 1, 0}}, {{2, 2, 1}, 1, {0, 0, 1}},
      {{2, special::nan, 2}, 2, {0, 0, 0}}, {{2, 2, special::nan}, 2, {0, 0, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b, T c) {
    return math::select(a < b, b, math::select(a > c, c, a));
  }
  static constexpr Adjoints<3> vjp(Var g, Var a, Var b, Var c, Var) {
    return {{where((a >= b) * (a <= c), g, 0.0), where(a < b, g, 0.0), where((a >= b) * (a > c), g, 0.0)}};
  }
};

constexpr Var clamp(Var x, Var low, Var high) { return elementwise<Clamp>(x, low, high); }
/// Errors: OptionError for limits with nothing between them.
constexpr Var clamp(Var x, double low, double high) {
  if (!detail::given("clamp", {x})) return {};
  if (!(low <= high))
    return x.tape->fail<OptionError>(Message() << "clamp: its lower limit is above its upper one", {x});
  return clamp(x, constant_like(x, low), constant_like(x, high));
}

}  // namespace gradual
