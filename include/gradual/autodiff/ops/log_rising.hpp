#pragma once
#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/less.hpp>
#include <gradual/autodiff/ops/lgamma.hpp>
#include <gradual/autodiff/ops/log.hpp>
#include <gradual/autodiff/ops/log1p.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

namespace detail {
/// log Γ(x) − (x − ½) log x + x − ½ log 2π for x ≥ 8, by Stirling's series, as in lgamma.
constexpr Var stirling_rest(Var x) {
  const Var r = 1.0 / x, s = r * r;
  Var sum = s * (-3617. / 122400) + 1. / 156;
  for (const double factor : {-691. / 360360, 1. / 1188, -1. / 1680, 1. / 1260, -1. / 360, 1. / 12}) sum = sum * s + factor;
  return r * sum;
}
}  // namespace detail

/// Returns log Γ(x + n) − log Γ(x) for x > 0 and n ≥ 0, the logarithm of the rising factorial x (x + 1) … (x + n − 1), like
/// GSL's `lnpoch`. The difference of two lgammas is off by units in their last place, which for large x exceed the difference
/// itself: in float by 16 for x = 9·10⁶ and n = 1, and its derivative may have either sign. Here the large parts are never
/// added: n log x + (x + n − ½) log(1 + n/x) − n, and the remainders of two series.
constexpr Var log_rising(Var x, Var n) {
  const detail::Composite called("log_rising", x);
  if (!detail::given("log_rising", {x, n})) return {};
  if (is_small(x.dtype()) && is_small(n.dtype())) return convert(log_rising(widened(x), widened(n)), x.dtype());
  const Var far = where(x > 8.0, x, 8.0), share = n / far, steps = log1p(share);
  const Var apart = n * log(far) + (far * steps - n) + (n - 0.5) * steps;
  const Var rest = detail::stirling_rest(far + n) - detail::stirling_rest(far);
  return where((x > 8.0) * (n < x), apart + rest, lgamma(x + n) - lgamma(x));  // for n ≥ x the difference is as large as its parts
}
constexpr Var log_rising(Var x, double n) { return log_rising(x, constant_like(x, n)); }

}  // namespace gradual
