#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/log.hpp>

namespace gradual {

/// Natural logarithm; log(0) = −inf, with gradient +inf unless the adjoint is 0.
struct Log {
  static constexpr const char* name = "log";
  static constexpr int arity = 1;
  static constexpr bool positive = true;  ///< differentiable for positive operands
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::log(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return strong_mul(g, 1.0 / x); }
};

constexpr Var log(Var x) { return elementwise<Log>(x); }

}  // namespace gradual
