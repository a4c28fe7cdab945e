#pragma once
#include <concepts>
#include <limits>

#include <gradual/autodiff/ops.hpp>

// Code shared by self-attention and cross-attention.

namespace gradual::detail {

/// Checks that those of some Vars that are valid are [batch, positions, width]. Otherwise reports the error and returns false.
constexpr bool are_sequences(std::initializer_list<Var> some) {
  for (const Var x : some)
    if (x.valid() && x.shape().rank != 3)
      return x.tape->fail(Message() << "attention: needs [batch, positions, width], got " << x.shape(), {x}).valid();
  return true;
}

/// Checks that `width` can be split among the heads and, for a `rotary` other than 0, that each head's numbers can be rotated
/// in pairs. Otherwise reports the error on the tape of q and returns false.
constexpr bool check_heads(Var q, std::int64_t width, std::int64_t heads, double rotary = 0) {
  Tape& tape = *q.tape;
  if (heads < 1 || width % heads != 0)
    return tape.fail(Message() << "attention: a width of " << width << " cannot be split evenly among " << heads << " heads",
                     {q}).valid();
  if (rotary == 0) return true;
  if (!(rotary >= 1 && rotary <= static_cast<double>(std::numeric_limits<float>::max())))
    return tape.fail<OptionError>(Message() << "attention: a rotary base of " << rotary << ", which is below 1 or not a float",
                                  {q}).valid();
  return width / heads % 2 == 0 ||
         tape.fail(Message() << "attention: heads of " << width / heads << " numbers cannot be rotated in pairs", {q}).valid();
}

/// Rotates, in each head of x, [batch, positions, width], the numbers i and i + n/2 of n as coordinates in a plane by the angle
/// place·base^(−2i/n) (Su et al. 2021, paired as in GPT-NeoX), so that the dot product of two rows depends on their relative
/// position. place: an int32 per sample, for a single position; without it, positions count from 0. A base of 0 leaves x
/// unchanged.
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

/// Reshapes [batch, positions, width] to [batch, heads, positions, width/heads].
constexpr Var by_head(Var x, std::int64_t heads) {
  const Shape shape = x.shape();
  return transpose(reshape(x, Shape::per_sample({shape.extent[1], heads, shape.extent[2] / heads})), {0, 2, 1, 3});
}

/// The score of masked positions.
inline constexpr double unseen = -std::numeric_limits<double>::infinity();

/// Returns where `present`, [batch, others], is not 0, in the shape of scores: [batch, heads, positions, others].
constexpr Var seen_by_all(Var present, Var scores) {
  return broadcast(reshape(present, Shape::per_sample({1, 1, scores.shape().extent[3]})), scores.shape()) != 0.0;
}

/// Leaves scores as they are.
struct Unchanged {
  constexpr Var operator()(Var scores, auto...) const { return scores; }
};

/// Returns the scores that `change` computes, in float, from the scores and from each of `more(scores)`.
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

/// Returns how many positions before `at`, integers shaped like scores, each key lies, in the type of scores.
constexpr Var positions_before(Var at, Var scores) {
  return convert(at, scores.dtype()) - convert(iota(scores, 3), scores.dtype());
}

/// Computes softmax(q·kᵀ/√(width/heads))·v per head, concatenated, for q: [batch, positions, width], k and v: [batch, others,
/// width]. `change` returns modified scores, [batch, heads, positions, others], and `mask` returns them with masked ones set to
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
