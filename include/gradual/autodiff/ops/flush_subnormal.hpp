#pragma once
#include <gradual/autodiff/elementwise.hpp>
#include <gradual/core/math/flush_subnormal.hpp>

namespace gradual {

/// x, or +0 where it is −0 or subnormal: processors multiply subnormal numbers a hundred times slower than others. Its gradient
/// is that of x.
struct FlushSubnormal {
  static constexpr const char* name = "flush_subnormal";
  static constexpr int arity = 1;
  static constexpr Domain domain{.low = -3, .high = 3};
  static constexpr Special specials[] = {{{0}, 0, {1}},
                                         {{-0.0}, 0, {1}},
                                         {{special::least}, 0, {1}},
                                         {{-special::least}, 0, {1}},
                                         {{special::inf}, special::inf, {1}},
                                         {{-special::inf}, -special::inf, {1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return math::flush_subnormal(x);
  }
  static constexpr Var vjp(Var g, Var, Var) { return g; }
};

constexpr Var flush_subnormal(Var x) { return elementwise<FlushSubnormal>(x); }

}  // namespace gradual
