#pragma once
#include <gradual/autodiff/elementwise.hpp>

namespace gradual {

/// a · b.
struct Multiply {
  static constexpr const char* name = "multiply";
  static constexpr int arity = 2;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {
      {{-0.0, 2}, -0.0, {2, 0}}, {{special::least, 1}, special::least, {1, special::least}},
      {{special::most, 2}, special::inf, {2, special::most}}, {{0, special::inf}, special::nan, {special::inf, 0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T a, T b) {
    return a * b;
  }
  static constexpr Adjoints<2> vjp(Var g, Var a, Var b, Var) { return {{g * b, g * a}}; }
};

constexpr Var operator*(Var a, Var b) { return elementwise<Multiply>(a, b); }
constexpr Var square(Var x) { return x * x; }

}  // namespace gradual
