#pragma once
#include <gradual/nn/attention_heads.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// What each position may attend to: all positions, or none that comes after it.
enum class Attend : unsigned char { everywhere, backward };

/// Self-attention with several heads (Vaswani et al. 2017): softmax(q·kᵀ/√(width/heads))·v for each, side by side,
/// through an output layer. [batch, positions, width] to the same shape. Parameters: input/weight [width, 3·width],
/// input/bias, output/weight [width, width], output/bias; options may leave the biases out. Errors: other axes, a width that is
/// no multiple of the heads.
class MultiHeadAttention {
 public:
  constexpr MultiHeadAttention(Scope scope, std::int64_t width, std::int64_t heads, Attend attend = Attend::everywhere,
                               LayerOptions options = {})
      : input_(scope / "input", width, 3 * width, options), output_(scope / "output", width, width, options), heads_(heads),
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
      return x.tape->fail(Message() << "attention: needs [batch, positions, width], got " << x.shape(), {x});
    const auto [q, k, v] = split<3>(input_(x));
    if (!q.valid() || !detail::check_heads(q, q.shape().extent[2], heads_)) return {};
    return output_(detail::mix_by_head(q, k, v, heads_, [&](Var scores) {
      if (present.valid()) {
        const Var seen = detail::seen_by_all(present, scores);
        scores = where(iota(scores, 3) == iota(scores, 2), scores, where(seen, scores, detail::unseen));
      }
      return attend_ == Attend::backward ? where(iota(scores, 3) <= iota(scores, 2), scores, detail::unseen) : scores;
    }));
  }

  Linear input_, output_;
  std::int64_t heads_;
  Attend attend_;
};

}  // namespace gradual::nn
