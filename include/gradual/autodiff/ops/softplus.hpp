#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/softplus.hpp>

namespace gradual {

/// log(1 + eˣ) without overflow.
struct Softplus {
  static constexpr const char* name = "softplus";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{0}, 0.69314718055994531, {0.5}}, {{1000}, 1000, {1}}, {{-1000}, 0, {0}}, {{special::inf}, special::inf, {1}},
      {{-special::inf}, 0, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::softplus(x);
  }
  static constexpr Var vjp(Var g, Var x, Var) { return g * sigmoid(x); }
};

constexpr Var softplus(Var x) { return elementwise<Softplus>(x); }
/// Returns log sigmoid(x) without overflow.
constexpr Var log_sigmoid(Var x) {
  const detail::Composite called("log_sigmoid", x);
  return -softplus(-x);
}

}  // namespace gradual
