#pragma once
#include <limits>

#include <gradual/autodiff/ops.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// What each position may attend to: all positions, or none that comes after it.
enum class Attend : unsigned char { everywhere, backward };

/// Self-attention with several heads (Vaswani et al. 2017): softmax(q·kᵀ/√(width/heads))·v for each, side by side,
/// through an output layer. [batch, positions, width] to the same shape. Parameters: input/weight [width, 3·width],
/// input/bias, output/weight [width, width], output/bias. Errors: other axes, a width that is no multiple of the heads.
class MultiHeadAttention {
 public:
  constexpr MultiHeadAttention(Scope scope, std::int64_t width, std::int64_t heads, Attend attend = Attend::everywhere)
      : input_(scope / "input", width, 3 * width), output_(scope / "output", width, width), heads_(heads),
        attend_(attend) {}

  constexpr Var operator()(Var x) const { return attend(x, {}); }
  /// The same of sequences that end earlier. `present`: [batch, positions], 0 where there is nothing: such a position is seen
  /// by itself alone, and its output is no part of the sequence. Outputs of the others have the bits of the shorter sequence.
  /// Errors: as above, and for other shapes.
  constexpr Var operator()(Var x, Var present) const {
    return detail::check_present("attention", x, present) ? attend(x, present) : Var{};
  }

 private:
  /// `present`: not valid where all is.
  constexpr Var attend(Var x, Var present) const {
    if (x.valid() && x.shape().rank != 3)
      return x.tape->fail(Message() << "attention: needs [batch, positions, width], got " << x.shape()
                                    << x.tape->in_layer({x}).view());
    const auto [q, k, v] = split<3>(input_(x));
    if (!q.valid()) return {};
    const std::int64_t width = q.shape().extent[2];
    if (heads_ < 1 || width % heads_ != 0)
      return q.tape->fail(Message() << "attention: a width of " << width << " cannot be shared out among " << heads_
                                    << " heads" << q.tape->in_layer({q}).view());
    const double each = static_cast<double>(width / heads_);
    Var scores =
        matmul(by_head(q), by_head(k), false, true) * (1 / math::sqrt(each));  // [batch, heads, position, other]
    constexpr double unseen = -std::numeric_limits<double>::infinity();
    if (present.valid()) {
      const Var seen = broadcast(reshape(present, Shape::per_sample({1, 1, x.shape().extent[1]})), scores.shape()) != 0.0;
      scores = where(iota(scores, 3) == iota(scores, 2), scores, where(seen, scores, unseen));
    }
    if (attend_ == Attend::backward) scores = where(iota(scores, 3) <= iota(scores, 2), scores, unseen);
    const Var mixed = matmul(softmax(scores), by_head(v));
    return output_(reshape(transpose(mixed, {0, 2, 1, 3}), q.shape()));
  }

  /// [batch, positions, width] as [batch, heads, positions, width/heads].
  constexpr Var by_head(Var x) const {
    const Shape shape = x.shape();
    return transpose(reshape(x, Shape::per_sample({shape.extent[1], heads_, shape.extent[2] / heads_})), {0, 2, 1, 3});
  }

  Linear input_, output_;
  std::int64_t heads_;
  Attend attend_;
};

}  // namespace gradual::nn
