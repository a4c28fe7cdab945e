#pragma once
#include <gradual/autodiff/ops/erfcx.hpp>
#include <gradual/autodiff/ops/exp.hpp>
#include <gradual/autodiff/ops/less.hpp>
#include <gradual/autodiff/ops/log.hpp>
#include <gradual/autodiff/ops/log1p.hpp>
#include <gradual/autodiff/ops/where.hpp>

namespace gradual {

/// Returns log Φ(x), where Φ(x) is the probability that a normal number of mean 0 and deviation 1 is at most x; finite, like
/// its derivative, even where Φ(x) rounds to 0. As in SciPy and PyTorch. Computed in float for 16 bits.
constexpr Var log_ndtr(Var x) {
  const detail::Composite called("log_ndtr", x);
  return in_float(x, [](Var v) {
    const Var below = v < 0.0, half_square = 0.5 * square(v);
    const Var scaled = erfcx(0.7071067811865476 * where(below, -v, v));  // of |v|, with a derivative at 0
    return where(below, log(0.5 * scaled) - half_square, log1p(-0.5 * (exp(-half_square) * scaled)));
  });
}

}  // namespace gradual
