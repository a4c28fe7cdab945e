#pragma once
#include <gradual/nn/attention_heads.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/present.hpp>

namespace gradual::nn {

/// Which positions each position may attend to: all, or none after its own.
enum class Attend : unsigned char { everywhere, backward };

/// Options of self-attention.
struct AttentionOptions {
  bool bias = true;  ///< of its two linear layers
  /// Base of the angles by which queries and keys are rotated according to their positions, such as 10 000 (Su et al. 2021), so
  /// that scores depend on relative positions. 0: no rotation.
  double rotary = 0;
};

/// Multi-head self-attention (Vaswani et al. 2017): softmax(q·kᵀ/√(width/heads))·v per head, concatenated and passed through an
/// output layer. Maps [batch, positions, width] to the same shape. Parameters: input/weight [width, 3·width], input/bias,
/// output/weight [width, width], output/bias; options may leave the biases out. Errors: other axes; a width that is not a
/// multiple of the heads, or of twice the heads with a rotation; OptionError for a `rotary` below 1 other than 0, or no float.
class MultiHeadAttention {
 public:
  constexpr MultiHeadAttention(Scope scope, std::int64_t width, std::int64_t heads, Attend attend = Attend::everywhere,
                               AttentionOptions options = {})
      : input_(scope / "input", width, 3 * width, {.bias = options.bias}),
        output_(scope / "output", width, width, {.bias = options.bias}), heads_(heads), attend_(attend),
        rotary_(options.rotary) {}

  /// `present`, [batch, positions], is 0 at the padding of shorter sequences. A padding position is attended to only by itself,
  /// and its output is not part of the sequence; the other outputs have the bits of the unpadded sequence.
  /// `change(scores, before)` returns modified scores from q·kᵀ/√(width/heads), [batch, heads, positions, positions]: −∞ masks
  /// a position, but not all of a row may be masked. `before`, in the same shape, holds as floating-point numbers how many
  /// positions each key lies before its query. Errors: as above, and for other shapes.
  template <class Change = detail::Unchanged>
  constexpr Var operator()(Var x, Var present = {}, Change change = {}) const {
    if (!detail::are_sequences({x}) || !detail::check_present("attention", x, present)) return {};
    const auto [q, k, v] = split<3>(input_(x));
    if (!q.valid() || !detail::check_heads(q, q.shape().extent[2], heads_, rotary_)) return {};
    const Var turned_q = detail::turned(q, heads_, rotary_), turned_k = detail::turned(k, heads_, rotary_);
    const auto changed = [&](Var scores) {
      return detail::changed(scores, change, [](Var like) { return detail::positions_before(iota(like, 2), like); });
    };
    return output_(detail::mix_by_head(turned_q, turned_k, v, heads_, changed, [&](Var scores) {
      if (present.valid()) {
        const Var seen = detail::seen_by_all(present, scores);
        scores = where(iota(scores, 3) == iota(scores, 2), scores, where(seen, scores, detail::unseen));
      }
      return attend_ == Attend::backward ? where(iota(scores, 3) <= iota(scores, 2), scores, detail::unseen) : scores;
    }));
  }

  /// The keys and values of a sequence's positions, [batch, positions, width] each.
  struct Kept {
    Var keys, values;
  };
  struct Step {
    Var y;      ///< [batch, width]
    Kept kept;  ///< including those of this position
  };
  /// Computes one position of a sequence, to the bits of the whole: x, [batch, width], at `place`, an int32 per sample, which
  /// is range-checked as labels are. `kept` holds the earlier positions; its other contents must be finite and change no bit.
  /// `change` is that of the whole, for scores [batch, heads, 1, positions]. Errors: other axes; attention to later positions.
  template <class Change = detail::Unchanged>
  constexpr Step step(Var x, Kept kept, Var place, Change change = {}) const {
    if (!detail::given("attention", {x, kept.keys, kept.values, place})) return {};
    Tape& tape = *x.tape;
    const Shape one = x.shape(), all = kept.keys.shape();
    if (attend_ != Attend::backward)
      return tape.fail("attention: a step sees only what comes before it: use Attend::backward", {x}), Step{};
    if (one.rank != 2 || all.rank != 3 || all.extent[2] != one.extent[1] || !(kept.values.shape() == all) ||
        !(place.shape() == Shape::per_sample({})))
      return tape.fail(Message() << "attention: a step needs [batch, width], keys and values of [batch, positions, width] and "
                                 << "places of [batch], got " << one << ", " << all << ", " << kept.values.shape() << " and "
                                 << place.shape(), {x}), Step{};
    const std::int64_t positions = all.extent[1], width = all.extent[2];
    if (!detail::takes_labels("attention", x, place, positions, LabelRange::none, LabelRange::Of::place)) return {};
    const auto [q, k, v] = split<3>(input_(reshape(x, Shape::per_sample({1, width}))));
    if (!q.valid() || !detail::check_heads(q, width, heads_, rotary_)) return {};
    const Var here = detail::is_at(Shape::per_sample({positions, 1}), place, 1);
    const Var turned_q = detail::turned(q, heads_, rotary_, place), turned_k = detail::turned(k, heads_, rotary_, place);
    kept = {where(here, turned_k, kept.keys), where(here, v, kept.values)};
    const auto at = [&](Var like) { return broadcast(reshape(place, Shape::per_sample({1, 1, 1})), like.shape()); };
    const auto changed = [&](Var scores) {
      return detail::changed(scores, change, [&](Var like) { return detail::positions_before(at(like), like); });
    };
    const Var y = output_(detail::mix_by_head(turned_q, kept.keys, kept.values, heads_, changed, [&](Var scores) {
      return where(iota(scores, 3) <= at(scores), scores, detail::unseen);
    }));
    if (!y.valid()) return {};
    return {reshape(y, one), kept};
  }

 private:
  Linear input_, output_;
  std::int64_t heads_;
  Attend attend_;
  double rotary_;
};

}  // namespace gradual::nn
