#pragma once
#include <limits>

#include <gradual/autodiff/ops.hpp>

// What self-attention and attention to another sequence share.

namespace gradual::detail {

/// Whether `width` can be shared out among the heads; else the tape of q says so.
constexpr bool check_heads(Var q, std::int64_t width, std::int64_t heads) {
  if (heads >= 1 && width % heads == 0) return true;
  q.tape->fail(Message() << "attention: a width of " << width << " cannot be shared out among " << heads << " heads", {q});
  return false;
}

/// [batch, positions, width] as [batch, heads, positions, width/heads].
constexpr Var by_head(Var x, std::int64_t heads) {
  const Shape shape = x.shape();
  return transpose(reshape(x, Shape::per_sample({shape.extent[1], heads, shape.extent[2] / heads})), {0, 2, 1, 3});
}

/// The score of what is not seen.
inline constexpr double unseen = -std::numeric_limits<double>::infinity();

/// Where `present`, [batch, others], is not 0, in the shape of scores: [batch, heads, positions, others].
constexpr Var seen_by_all(Var present, Var scores) {
  return broadcast(reshape(present, Shape::per_sample({1, 1, scores.shape().extent[3]})), scores.shape()) != 0.0;
}

/// softmax(q·kᵀ/√(width/heads))·v for each head, side by side, of q: [batch, positions, width], k and v: [batch, others, width].
/// `mask` gives scores, [batch, heads, positions, others], in which what is not seen has that of `unseen`.
template <class Mask>
constexpr Var mix_by_head(Var q, Var k, Var v, std::int64_t heads, Mask mask) {
  const double each = static_cast<double>(q.shape().extent[2] / heads);
  const Var scores = matmul(by_head(q, heads), by_head(k, heads), false, true) * (1 / math::sqrt(each));
  const Var mixed = matmul(softmax(mask(scores)), by_head(v, heads));
  return reshape(transpose(mixed, {0, 2, 1, 3}), q.shape());
}

}  // namespace gradual::detail
