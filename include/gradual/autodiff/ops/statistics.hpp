#pragma once
#include <gradual/autodiff/ops/sqrt.hpp>
#include <gradual/autodiff/ops/sum.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

namespace detail {
/// Returns √x with derivatives of 0 at 0.
constexpr Var root_of_squares(Var x) {
  const Var zero = x == 0.0;
  return where(zero, 0.0, sqrt(where(zero, 1.0, x)));
}
/// Subtracts the mean over the axes, which stay, twice: the first mean is rounded relative to x, the second relative to the
/// rest, so that equal values leave 0.
constexpr Var centred(Var x, Axes axes) {
  const Var rough = x - mean(x, axes, true);
  return rough - mean(rough, axes, true);
}
constexpr Var squared_deviation(Var x, Axes axes) {
  const Var deviation = centred(x, axes);
  return deviation * deviation;
}
}  // namespace detail

/// Returns the mean squared deviation from the mean over axes inside one sample, in two passes; `unbiased` divides by one less
/// than the number of values, which gives NaN for one value.
constexpr Var variance(Var x, Axes axes, bool unbiased = false, bool keep = false) {
  const detail::Composite called("variance", x);
  if (!x.valid()) return {};
  if (is_small(x.dtype())) return convert(variance(widened(x), axes, unbiased, keep), x.dtype());
  const Var result = mean(detail::squared_deviation(x, axes), axes, keep);
  if (!unbiased || !result.valid()) return result;
  const double count = static_cast<double>(x.shape().unit()) / static_cast<double>(result.shape().unit());
  return result * count / (count - 1.0);
}

/// Returns √variance; its derivative is 0 where all values are equal.
constexpr Var standard_deviation(Var x, Axes axes, bool unbiased = false, bool keep = false) {
  const detail::Composite called("standard_deviation", x);
  return in_float(x, [&](Var in) {
    const Var v = variance(in, axes, unbiased, keep);
    return v.valid() ? detail::root_of_squares(v) : v;
  });
}

/// Returns √Σx² over axes inside one sample; its derivative at 0 is 0.
constexpr Var norm(Var x, Axes axes, bool keep = false) {
  const detail::Composite called("norm", x);
  if (!x.valid()) return x;
  return in_float(x, [&](Var in) { return detail::root_of_squares(sum(in * in, axes, keep)); });
}

}  // namespace gradual
