#pragma once
#include <gradual/autodiff/ops/multiply.hpp>
#include <gradual/autodiff/value_key.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/threefry.hpp>

namespace gradual {

/// 1/(1 − rate) with probability 1 − rate, else 0, keyed by sample or step, and by element, so that backward draws the same
/// numbers again instead of storing them. `number` is the rate, `integer[0]` the key that distinguishes the masks of one net.
struct DropoutMask {
  static constexpr const char* name = "dropout_mask";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::random;

  template <class T>
  struct Draw {
    std::uint32_t threshold;  ///< elements with a random word below it are dropped
    T scale;                  ///< rounded when it is stored
    GRADUAL_HD static constexpr Draw of(double rate, bool on) {
      return {on ? static_cast<std::uint32_t>(rate * 0x1p32) : 0, on ? static_cast<T>(1 / (1 - rate)) : T(1)};
    }
    GRADUAL_HD constexpr T operator()(std::uint64_t key, std::uint32_t element) const {
      return math::select(static_cast<std::uint32_t>(threefry(key, element)) >= threshold, scale, T(0));
    }
  };
};

namespace detail {
/// Returns the key of random numbers in the shape of a value, unique on the tape.
constexpr std::int64_t random_key(Tape& tape, int id, double rate) {
  std::uint64_t key = mix(value_key(tape, id), std::bit_cast<std::uint64_t>(rate));
  for (const Node& node : tape.nodes)  // one pass: the keys of values that are computed alike are recorded in this order
    if (node.op->kind == Kind::random && node.attributes.integer[0] == static_cast<std::int64_t>(key >> 2)) key = mix(key, 1);
  return static_cast<std::int64_t>(key >> 2);
}
}  // namespace detail

/// Drops each element of x with probability `rate` while training and scales the others by 1/(1 − rate) (Srivastava et al.
/// 2014); in evaluation and inference returns x, unless these draw (`.evaluate_drawing`, `Drawing`). x: [batch, ...], or
/// without samples, as weights are (DropConnect, Wan et al. 2013): then all samples of a window lose the same elements, and
/// others in each step. What is dropped depends on how x is computed, not on when it is recorded; values that are computed
/// alike are told apart by their order, so drop each of them in a statement of its own. Errors: a rate outside [0, 1), samples
/// along another axis.
constexpr Var dropout(Var x, double rate) {
  if (!detail::given("dropout", {x}) || !x.tape->training) return x;
  Tape& tape = *x.tape;
  if (!(rate >= 0 && rate < 1))
    return tape.fail(Message() << "dropout: a rate of " << rate << ", which is not in [0, 1)", {x});
  if (x.shape().batch_axis > 0)
    return tape.fail(Message() << "dropout: needs samples along the first axis, got " << x.shape(), {x});
  const Attributes attributes{.number = rate, .integer = {detail::random_key(tape, x.id, rate)}};
  return x * tape.record(op_info<DropoutMask>, {}, x.shape(), x.dtype(), attributes);
}

}  // namespace gradual
