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

  /// What the positions of a sequence are seen by, [batch, positions, width] each.
  struct Kept {
    Var keys, values;
  };
  struct Step {
    Var y;      ///< [batch, width]
    Kept kept;  ///< with those of this position
  };
  /// One position of a sequence, to the bits of the whole: x, [batch, width], of `place`, an int32 of each sample, which is
  /// checked as labels are. `kept` is of the positions before; what it holds of others is finite and changes no bit. Errors:
  /// other axes; attention that sees what comes after.
  constexpr Step step(Var x, Kept kept, Var place) const {
    if (!detail::given("attention", {x, kept.keys, kept.values, place})) return {};
    Tape& tape = *x.tape;
    const Shape one = x.shape(), all = kept.keys.shape();
    if (attend_ != Attend::backward)
      return tape.fail("attention: a step sees what comes before it alone: Attend::backward", {x}), Step{};
    if (one.rank != 2 || all.rank != 3 || all.extent[2] != one.extent[1] || !(kept.values.shape() == all) ||
        !(place.shape() == Shape::per_sample({})))
      return tape.fail(Message() << "attention: a step needs [batch, width], keys and values of [batch, positions, width] and "
                                 << "places of [batch], got " << one << ", " << all << ", " << kept.values.shape() << " and "
                                 << place.shape(), {x}), Step{};
    const std::int64_t positions = all.extent[1], width = all.extent[2];
    if (!detail::takes_labels("attention", x, place, positions, LabelRange::none, LabelRange::Of::place)) return {};
    const auto [q, k, v] = split<3>(input_(reshape(x, Shape::per_sample({1, width}))));
    if (!q.valid() || !detail::check_heads(q, width, heads_)) return {};
    const Var here = detail::is_at(Shape::per_sample({positions, 1}), place, 1);
    kept = {where(here, k, kept.keys), where(here, v, kept.values)};
    const Var y = output_(detail::mix_by_head(q, kept.keys, kept.values, heads_, [&](Var scores) {
      const Var last = broadcast(reshape(place, Shape::per_sample({1, 1, 1})), scores.shape());
      return where(iota(scores, 3) <= last, scores, detail::unseen);
    }));
    return {reshape(y, one), kept};
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
