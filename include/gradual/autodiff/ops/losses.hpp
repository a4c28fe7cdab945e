#pragma once
#include <gradual/autodiff/ops/abs.hpp>
#include <gradual/autodiff/ops/broadcast.hpp>
#include <gradual/autodiff/ops/clamp.hpp>
#include <gradual/autodiff/ops/multiply.hpp>
#include <gradual/autodiff/ops/softplus.hpp>
#include <gradual/autodiff/ops/strong_mul.hpp>
#include <gradual/autodiff/ops/sum.hpp>
#include <gradual/core/math/all_finite.hpp>

namespace gradual {

/// Returns the mean of x over all axes but the first, which must be the sample axis: one value per sample.
constexpr Var mean_per_sample(Var x) {
  const detail::Composite called("mean_per_sample", x);
  if (!x.valid()) return {};
  if (is_small(x.dtype())) return convert(mean_per_sample(widened(x)), x.dtype());
  int axes[max_rank]{}, count = 0;
  for (int i = 1; i < x.shape().rank; ++i) axes[count++] = i;
  Var total = reduce_axes<Sum>(x, axes, count, false, x.dtype());
  return count == 0 || !total.valid() ? total : total / static_cast<double>(x.shape().product(1, x.shape().rank));
}

namespace detail {
/// Whether both have the same shape and the target is not an integer. Widens 16-bit types to float.
constexpr bool fits_target(const char* loss, Var& prediction, Var& target) {
  if (!given(loss, {prediction, target})) return false;
  prediction = widened(prediction);
  target = widened(target);
  if (target.dtype() == DType::i32) {
    const char* const type = prediction.dtype() == DType::f64 ? "f64)" : "f32)";
    target.tape->fail<TypeError>(Message() << loss << ": target is int32: use convert(target, DType::" << type, {prediction});
    return false;
  }
  if (prediction.shape() == target.shape()) return true;
  Message text;
  text << loss << ": prediction " << prediction.shape() << ", target " << target.shape()
       << prediction.tape->in_layer({prediction}).view();
  if (target.shape() == Shape::per_sample({}) && prediction.shape() == Shape::per_sample({1}))
    text << "; an input declared as f32[1] is [batch, 1]";
  else if (target.shape().batched() && repeats_to(target.shape(), prediction.shape()))
    text << "; broadcast(target, prediction.shape()) repeats it";
  prediction.tape->fail(text);
  return false;
}
}  // namespace detail

/// Returns the mean squared error, one value per sample. Errors: shapes that differ, integers as target; so for the other
/// losses here.
constexpr Var mse(Var prediction, Var target) {
  if (!detail::fits_target("mse", prediction, target)) return {};
  return mean_per_sample(square(prediction - target));
}

/// Returns the mean absolute error.
constexpr Var mae(Var prediction, Var target) {
  if (!detail::fits_target("mae", prediction, target)) return {};
  return mean_per_sample(abs(prediction - target));
}

/// Returns the mean of ½e² where |e| ≤ delta, else delta(|e| − ½delta) (Huber 1964). Errors: also OptionError for a delta that
/// is not above 0.
constexpr Var huber(Var prediction, Var target, double delta = 1) {
  if (!detail::fits_target("huber", prediction, target)) return {};
  if (!(delta > 0))
    return prediction.tape->fail<OptionError>(Message() << "huber: delta is not above 0", {prediction});
  Var error = prediction - target;
  Var inner = clamp(error, -delta, delta);
  return mean_per_sample(inner * (error - 0.5 * inner));
}

/// Returns the mean of −pt log sigmoid(s) − (1 − t) log(1 − sigmoid(s)) for targets t from 0 to 1, as a sum of terms that
/// neither overflow nor cancel. A score of ±∞ costs 0, with gradient 0, if its target agrees, else ∞. As in PyTorch, p is
/// `pos_weight`, repeated to the scores' shape, or 1; one for each class is `lookup(iota(score, 1), {1, 3, 20})`. Errors: also
/// ShapeError for a `pos_weight` that cannot be repeated to that shape.
constexpr Var bce_with_logits(Var score, Var target, Var pos_weight = {}) {
  if (!detail::fits_target("bce_with_logits", score, target)) return {};
  const detail::Composite called("bce_with_logits", score);
  const Var positive = pos_weight.valid() ? target * broadcast(widened(pos_weight), target.shape()) : target;
  return mean_per_sample(strong_mul(positive, softplus(-score)) + strong_mul(1.0 - target, softplus(score)));
}
/// Does the same with one number for all. Errors: also OptionError for a number that is negative or not finite.
constexpr Var bce_with_logits(Var score, Var target, double pos_weight) {
  if (score.valid() && !(pos_weight >= 0 && math::is_finite(pos_weight)))
    return score.tape->fail<OptionError>(Message() << "bce_with_logits: pos_weight is negative or not finite", {score});
  return bce_with_logits(score, target, constant_like(widened(score), pos_weight));
}

}  // namespace gradual
