#pragma once
// Shared by lgamma and digamma: Γ(x) = Γ(z) (x - 1) (x - 2) … z.

#include <gradual/core/math/arithmetic.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::math::detail {

template <class T> struct GammaReduction {
  T rest;     // z, exact
  T product;  // of the factors, 1 where there are none
  T slope;    // the product's derivative by x; divided by the product, the sum of the factors' reciprocals
};

/// Reduces x below lowest + 7: the factors are those of x - 1, …, x - 6 that are at least `lowest`.
template <class T> GRADUAL_HD GRADUAL_INLINE constexpr GammaReduction<T> reduce_gamma(T x, T lowest) {
  GammaReduction<T> reduced{x, 1, 0};
  for (int i = 1; i <= 6; ++i) {
    const T factor = x - static_cast<T>(i);
    const bool counts = factor >= lowest;
    reduced.slope = select(counts, fma(reduced.slope, factor, reduced.product), reduced.slope);
    reduced.product = select(counts, mul(reduced.product, factor), reduced.product);
    reduced.rest = select(counts, factor, reduced.rest);
  }
  return reduced;
}

}  // namespace gradual::math::detail
