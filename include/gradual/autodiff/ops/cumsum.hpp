#pragma once
#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/inner_axis.hpp>
#include <gradual/autodiff/ops/pad.hpp>
#include <gradual/autodiff/ops/slice.hpp>

namespace gradual {

/// Returns at each place along `axis` (negative: from the end) the sum of x up to and including it. For n places it takes log2
/// n additions, each doubling the length of the sums (Hillis and Steele 1986), so that rounding errors add up as in a tree.
/// Errors: an axis out of range; the sample axis; integers.
constexpr Var cumsum(Var x, int axis) {
  const detail::Composite called("cumsum", x);
  if (!x.valid()) return {};
  const int at = detail::inner_axis(x, "cumsum", axis);
  if (at < 0) return {};
  if (x.dtype() == DType::i32) return refuse_integers("cumsum", &x, 1);
  return in_float(x, [at](Var sums) {
    const std::int64_t places = sums.shape().extent[at];
    for (std::int64_t summed = 1; summed < places; summed *= 2)
      sums = sums + pad(slice(sums, at, 0, places - summed), at, summed, 0, 0);
    return sums;
  });
}

}  // namespace gradual
