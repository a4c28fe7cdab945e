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
  /// Multiplies g by 2x y − 2/√π or, where that cancels, by −1/(√π x²).
  static constexpr Var vjp(Var g, Var x, Var y) {
    const Var near = x < 1e4, slope = 2.0 * (where(near, x, 0.0) * y - 0.5641895835477563);
    return strong_mul(g, where(near, slope, -square(0.7511255444649425 / where(near, 1e4, x))));
  }
};

constexpr Var erfcx(Var x) { return elementwise<Erfcx>(x); }

}  // namespace gradual
