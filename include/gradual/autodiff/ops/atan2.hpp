#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/atan2.hpp>

namespace gradual {

/// The angle of the point (b, a), from −π to π; atan2(0, 0) = 0, with all derivatives 0.
struct Atan2 {
  static constexpr const char* name = "atan2";
  static constexpr int arity = 2;
  static constexpr bool costly = true;
  static constexpr Domain domain{.low = -3, .high = 3, .kink_at_zero = true};
  static constexpr Special specials[] = {
      {{0, 0}, 0, {0, 0}}, {{-0.0, 0}, -0.0, {0, 0}}, {{0, -0.0}, special::pi, {0, 0}},
      {{-0.0, -0.0}, -special::pi, {0, 0}}, {{0, -2}, special::pi, {-0.5, 0}}, {{-4, 0}, -special::pi / 2, {0, 0.25}},
      {{0x1p-120, 0x1p-120}, special::pi / 4, {0x1p119, -0x1p119}},
      {{-0x1p120, 0x1p120}, -special::pi / 4, {0x1p-121, 0x1p-121}}, {{1, special::inf}, 0, {special::nan, 0}},
      {{special::inf, 1}, special::pi / 2, {0, special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return math::atan2(a, b);
  }
  /// Multiplies g by b/(a² + b²) and −a/(a² + b²), with a and b scaled to at most 1, so that no square vanishes or overflows.
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var y);
};

constexpr Var atan2(Var y, Var x) { return elementwise<Atan2>(y, x); }

constexpr Adjoints<2> Atan2::vjp(Var g, Var a, Var b, Var) {
  const Var largest = stop_gradient(maximum(abs(a), abs(b))), none = largest == 0.0, size = where(none, 1.0, largest);
  const Var y = a / size, x = b / size;
  const Var square = where(none, __builtin_huge_val(), size * (y * y + x * x));
  return {{strong_divide(g * x, square), -strong_divide(g * y, square)}};
}

}  // namespace gradual
