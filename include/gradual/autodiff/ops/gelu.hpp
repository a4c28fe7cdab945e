#pragma once
#include <gradual/autodiff/ops/erf.hpp>

namespace gradual {

/// x·Φ(x), where Φ is the normal cumulative distribution function (Hendrycks and Gimpel 2016).
struct Gelu {
  static constexpr const char* name = "gelu";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{.low = -3, .high = 3, .ulp = 128};  // 1 + erf cancels where x is negative
  static constexpr Special specials[] = {
      {{-0.0}, -0.0, {0.5}}, {{800}, 800, {1}}, {{-800}, -0.0, {0}}, {{special::most}, special::most, {1}},
      {{special::inf}, special::inf, {special::nan}}, {{-special::inf}, special::nan, {special::nan}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * (T(0.5) + T(0.5) * math::erf(x * T(0.70710678118654752)));
  }
  static constexpr Var vjp(Var g, Var x, Var) {
    Var cumulative = 0.5 + 0.5 * erf(x * 0.7071067811865476);
    return g * (cumulative + x * (0.3989422804014327 * exp(-0.5 * (x * x))));
  }
};

constexpr Var gelu(Var x) { return elementwise<Gelu>(x); }

}  // namespace gradual
