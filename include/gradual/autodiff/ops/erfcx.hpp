#pragma once
#include <gradual/autodiff/ops/divide.hpp>
#include <gradual/autodiff/ops/less.hpp>
#include <gradual/autodiff/ops/multiply.hpp>
#include <gradual/autodiff/ops/negate.hpp>
#include <gradual/autodiff/ops/strong_mul.hpp>
#include <gradual/autodiff/ops/subtract.hpp>
#include <gradual/autodiff/ops/where.hpp>
#include <gradual/core/math/erfcx.hpp>

namespace gradual {

/// e^(x²) erfc(x), the scaled complementary error function, without the cancellation and underflow of erfc(x) = 1 − erf(x).
struct Erfcx {
  static constexpr const char* name = "erfcx";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{.low = -2, .high = 6, .ulp = 4};
  static constexpr Special specials[] = {
      {{0}, 1, {-1.1283791670955126}}, {{-0.0}, 1, {-1.1283791670955126}}, {{special::inf}, 0, {0}},
      {{-special::inf}, special::inf, {-special::inf}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::erfcx(x);
  }
  /// Multiplies g by 2x y − 2/√π or, where that cancels, by the asymptotic series −(1/√π x²) (1 − 3/(2x²) + 3·5/(2x²)² − …)
  /// (Abramowitz and Stegun 7.1.23, differentiated).
  static constexpr Var vjp(Var g, Var x, Var y) {
    const double far = x.dtype() == DType::f64 ? 16 : 5;
    const Var near = x < far, slope = 2.0 * (where(near, x, 0.0) * y - 0.5641895835477563);
    const Var s = 0.5 * square(1.0 / where(near, far, x));
    Var series = 1.0 - 15.0 * s;
    for (int odd = 13; odd > 1; odd -= 2) series = 1.0 - static_cast<double>(odd) * s * series;
    return strong_mul(g, where(near, slope, -1.1283791670955126 * s * series));
  }
};

/// Computed in float for 16 bits, since its derivative is a small difference of large numbers.
constexpr Var erfcx(Var x) {
  return in_float(x, [](Var v) { return elementwise<Erfcx>(v); });
}

}  // namespace gradual
