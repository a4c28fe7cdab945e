#pragma once
#include <concepts>
#include <limits>

#include <gradual/autodiff/ops.hpp>

// What self-attention and attention to another sequence share.

namespace gradual::detail {

/// Whether `width` can be shared out among the heads, and their numbers be turned in pairs by a `rotary` that is not 0; else
/// the tape of q says so.
constexpr bool check_heads(Var q, std::int64_t width, std::int64_t heads, double rotary = 0) {
  Tape& tape = *q.tape;
  if (heads < 1 || width % heads != 0)
    return tape.fail(Message() << "attention: a width of " << width << " cannot be shared out among " << heads << " heads",
                     {q}).valid();
  if (rotary == 0) return true;
  if (!(rotary >= 1 && rotary <= static_cast<double>(std::numeric_limits<float>::max())))
    return tape.fail<OptionError>(Message() << "attention: a rotary base of " << rotary << ", which is below 1 or no float",
                                  {q}).valid();
  return width / heads % 2 == 0 ||
         tape.fail(Message() << "attention: heads of " << width / heads << " numbers cannot be turned in pairs", {q}).valid();
}

/// x, [batch, positions, width], in each head of which the numbers i and i + n/2 of n are turned by the angle
/// place·base^(−2i/n), as coordinates in a plane (Su et al. 2021, paired as in GPT-NeoX): the product of two such rows depends
/// on how far apart their places are. place: an int32 of each sample, which has one position, or without one, from 0 on; a base
/// of 0 leaves x as it is.
constexpr Var turned(Var x, std::int64_t heads, double base, Var place = {}) {
  if (base == 0) return x;
  return in_float(x, [&](Var in) {
    const Shape shape = in.shape(), one = Shape::per_sample({1, 1, 1});
    const std::int64_t half = shape.extent[2] / heads / 2;
    place = place.valid() ? reshape(place, one) : iota(constant_like(in, Shape{shape.extent[1], 1, 1}, 0), 0);
    const Var pair = convert(iota(constant_like(in, Shape{half}, 0), 0), in.dtype());
    const Var angle = convert(place, in.dtype()) * exp(pair * (-math::log(base) / static_cast<double>(half)));
    const Var cosine = cos(angle), sine = sin(angle);
    const auto [a, b] = split<2>(reshape(in, Shape::per_sample({shape.extent[1], heads, 2 * half})));
    return reshape(gradual::concat({a * cosine - b * sine, b * cosine + a * sine}), shape);
  });
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

/// Leaves scores as they are.
struct Unchanged {
  constexpr Var operator()(Var scores, auto...) const { return scores; }
};

/// Scores as `change` makes them of these and of what `more` makes of them, in float.
template <class Change, class... More>
constexpr Var changed(Var scores, Change change, More... more) {
  static_assert(requires { Var(change(scores, more(scores)...)); },
                "a change of scores is called as change(scores, before), by CrossAttention as change(scores), and gives a Var");
  if (std::same_as<Change, Unchanged> || !scores.valid()) return scores;
  const Shape shape = scores.shape();
  scores = in_float(scores, [&](Var in) { return Var(change(in, more(in)...)); });
  if (!scores.valid() || scores.shape() == shape) return scores;
  return scores.tape->fail(Message() << "attention: scores " << shape << " were changed to " << scores.shape(), {scores});
}

/// How many positions before `at`, integers like scores, each of the others lies: a number in the type of scores.
constexpr Var positions_before(Var at, Var scores) {
  return convert(at, scores.dtype()) - convert(iota(scores, 3), scores.dtype());
}

/// softmax(q·kᵀ/√(width/heads))·v for each head, side by side, of q: [batch, positions, width], k and v: [batch, others,
/// width]. `change` gives other scores, [batch, heads, positions, others], and `mask` those where what is not seen has that of
/// `unseen`.
template <class Change, class Mask>
constexpr Var mix_by_head(Var q, Var k, Var v, std::int64_t heads, Change change, Mask mask) {
  const double each = static_cast<double>(q.shape().extent[2] / heads);
  const Var scores = change(matmul(by_head(q, heads), by_head(k, heads), false, true) * (1 / math::sqrt(each)));
  if (!scores.valid()) return {};
  const Var mixed = matmul(softmax(mask(scores)), by_head(v, heads));
  return reshape(transpose(mixed, {0, 2, 1, 3}), q.shape());
}

}  // namespace gradual::detail
