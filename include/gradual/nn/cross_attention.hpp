#pragma once
#include <gradual/nn/attention_heads.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// Attention of a sequence to another, its memory (Vaswani et al. 2017): like `MultiHeadAttention`, with k and v from the
/// memory. Maps x: [batch, positions, width] and memory: [batch, others, memory_width] to the shape of x. Parameters:
/// query/weight [width, width], query/bias, memory/weight [memory_width, 2·width], memory/bias, output/weight [width, width],
/// output/bias; options may leave the biases out. Errors: other axes; a width that is not a multiple of the heads.
class CrossAttention {
 public:
  constexpr CrossAttention(Scope scope, std::int64_t width, std::int64_t memory_width, std::int64_t heads,
                           LayerOptions options = {})
      : query_(scope / "query", width, width, options), memory_(scope / "memory", memory_width, 2 * width, options),
        output_(scope / "output", width, width, options), heads_(heads) {}

  /// `present`, [batch, others], is 0 at the memory's padding, which is masked: outputs have the bits of the unpadded memory.
  /// If a memory is all padding, the mixed values are 0. `change(scores)` returns modified scores of all heads, [batch, heads,
  /// positions, others], as in `MultiHeadAttention`. Errors: as above, and for other shapes.
  template <class Change = detail::Unchanged>
  constexpr Var operator()(Var x, Var memory, Var present = {}, Change change = {}) const {
    if (!detail::are_sequences({x, memory}) || !detail::check_present("attention", memory, present)) return {};
    const Var q = query_(x);
    const auto [k, v] = split<2>(memory_(memory));
    if (!q.valid() || !k.valid() || !detail::check_heads(q, q.shape().extent[2], heads_)) return {};
    const auto changed = [&](Var scores) { return detail::changed(scores, change); };
    if (!present.valid())
      return output_(detail::mix_by_head(q, k, v, heads_, changed, [](Var scores) { return scores; }));
    const Var most = max(convert(present != 0.0, q.dtype()), {1}, true);  // a softmax over masked scores alone would be NaN
    const auto nothing = [&](const Shape& beside) { return reshape(most, beside) == 0.0; };
    const Var mixed = detail::mix_by_head(q, k, v, heads_, changed, [&](Var scores) {
      const Var otherwise = where(nothing(Shape::per_sample({1, 1, 1})), 0.0, detail::unseen);
      return where(detail::seen_by_all(present, scores), scores, otherwise);
    });
    return output_(where(nothing(Shape::per_sample({1, 1})), 0.0, mixed));
  }

 private:
  Linear query_, memory_, output_;
  std::int64_t heads_;
};

}  // namespace gradual::nn
