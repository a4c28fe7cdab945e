#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual {

/// Natural logarithm; log(0) = −inf, with gradient +inf unless the adjoint is 0.
struct Log {
  static constexpr const char* name = "log";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{0.3, 3};
  static constexpr Special specials[] = {
      {{0}, -special::inf, {special::inf}}, {{-0.0}, -special::inf, {-special::inf}}, {{1}, 0, {1}},
      {{-special::least}, special::nan, {-special::inf}}, {{special::inf}, special::inf, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::log(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_divide(g, x); }
};

constexpr Var log(Var x) { return elementwise<Log>(x); }

}  // namespace gradual
