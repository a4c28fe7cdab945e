#pragma once
#include <gradual/gradual.hpp>

/// x · tanh(log(1 + eˣ)) (Misra 2019): an op that the library does not have. This header is all it takes: the name, the
/// function of one element, which becomes vector code inside fused kernels, and its derivative, written in ops.
struct Mish {
  static constexpr const char* name = "mish";
  static constexpr int arity = 1;
  static constexpr bool costly = true;
  static constexpr gradual::Domain domain{.low = -4, .high = 4};
  static constexpr gradual::Special specials[] = {{{0}, 0, {0.6}}, {{800}, 800, {1}}, {{-800}, -0.0, {0}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * gradual::math::tanh(gradual::math::softplus(x));
  }
  static constexpr gradual::Var vjp(gradual::Var g, gradual::Var x, gradual::Var) {
    using namespace gradual;
    const Var t = tanh(softplus(x));
    return g * (t + x * (1.0 - t * t) * sigmoid(x));
  }
};

constexpr gradual::Var mish(gradual::Var x) { return gradual::elementwise<Mish>(x); }
