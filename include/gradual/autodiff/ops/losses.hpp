#pragma once
#include <gradual/autodiff/ops/softplus.hpp>
#include <gradual/autodiff/ops/sum.hpp>

namespace gradual {

/// The mean of x over all axes but the first, which must be the samples': one value per sample.
constexpr Var mean_per_sample(Var x) {
  if (!x.valid()) return {};
  int axes[max_rank]{}, count = 0;
  for (int i = 1; i < x.shape().rank; ++i) axes[count++] = i;
  Var total = reduce_axes<Sum>(x, axes, count, false, x.dtype());
  return count == 0 || !total.valid() ? total : total / static_cast<double>(x.shape().product(1, x.shape().rank));
}

namespace detail {
constexpr bool same_shape(const char* loss, Var prediction, Var target) {
  if (!prediction.valid() || !target.valid()) return false;
  if (prediction.shape() == target.shape()) return true;
  prediction.tape->fail(Message() << loss << ": prediction " << prediction.shape() << ", target " << target.shape()
                                  << prediction.tape->in_layer({prediction}).view());
  return false;
}
}  // namespace detail

/// Mean of squared errors, one value per sample. Errors: shapes that differ. So for the other losses here.
constexpr Var mse(Var prediction, Var target) {
  if (!detail::same_shape("mse", prediction, target)) return {};
  Var error = prediction - target;
  return mean_per_sample(error * error);
}

/// Mean of absolute errors.
constexpr Var mae(Var prediction, Var target) {
  if (!detail::same_shape("mae", prediction, target)) return {};
  return mean_per_sample(abs(prediction - target));
}

/// Mean of ½e² where |e| ≤ delta, else delta(|e| − ½delta) (Huber 1964).
constexpr Var huber(Var prediction, Var target, double delta = 1) {
  if (!detail::same_shape("huber", prediction, target)) return {};
  Var size = abs(prediction - target);
  return mean_per_sample(where(size <= delta, 0.5 * (size * size), delta * (size - 0.5 * delta)));
}

/// Mean of −t log sigmoid(s) − (1 − t) log(1 − sigmoid(s)), as softplus(s) − t·s, which cannot overflow.
constexpr Var bce_with_logits(Var score, Var target) {
  if (!detail::same_shape("bce_with_logits", score, target)) return {};
  return mean_per_sample(softplus(score) - target * score);
}

}  // namespace gradual
