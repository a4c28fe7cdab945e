#pragma once
#include <gradual/autodiff/ops/max.hpp>
#include <gradual/autodiff/ops/stop_gradient.hpp>
#include <gradual/autodiff/ops/sum.hpp>

namespace gradual {

namespace detail {
/// x minus the maximum of its row (−inf if that is empty), so that exp cannot overflow and log Σ exp keeps its digits.
struct Shifted {
  Var maximum, value;
  constexpr explicit Shifted(Var x) : maximum(stop_gradient(row_maximum(x))), value(x - maximum) {}

 private:
  static constexpr Var row_maximum(Var x) {
    const int last = -1;
    return x.valid() ? reduce_axes<Max>(x, &last, 1, true, x.dtype()) : x;
  }
};
}  // namespace detail

/// Returns log Σ exp(x) over the last axis, which stays with extent 1. If all are −inf: −inf, with gradient 0.
constexpr Var logsumexp(Var x) {
  const detail::Composite called("logsumexp", x);
  return in_float(x, [](Var in) {
    const detail::Shifted shifted(in);
    const Var shift = shifted.maximum;
    return where(abs(shift) == __builtin_huge_val(), shift, log(sum(exp(shifted.value), {-1}, true)) + shift);
  });
}

/// Returns exp(x)/Σ exp(x) over the last axis. If all are −inf: NaN.
constexpr Var softmax(Var x) {
  const detail::Composite called("softmax", x);
  return in_float(x, [](Var in) {
    const Var e = exp(detail::Shifted(in).value);
    return e / sum(e, {-1}, true);
  });
}

/// Returns log softmax(x) over the last axis.
constexpr Var log_softmax(Var x) {
  const detail::Composite called("log_softmax", x);
  return in_float(x, [](Var in) {
    const Var shifted = detail::Shifted(in).value;
    return shifted - log(sum(exp(shifted), {-1}, true));
  });
}

}  // namespace gradual
