#pragma once
#include <gradual/autodiff/numbers_of_one_type.hpp>
#include <gradual/autodiff/ops/inner_axis.hpp>

namespace gradual {

/// Its operand with `integer[1]` more places before it along axis `integer[0]`, and as many after it as the shape has left; all
/// of them hold `number`. Stored only if it must be.
struct Pad {
  static constexpr const char* name = "pad";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::pad;
  static constexpr Var vjp(Var g, Var x, Var y) {
    const int axis = static_cast<int>(y.attributes().integer[0]);
    if (x.shape().extent[axis] == 0) return {};
    return slice(g, axis, y.attributes().integer[1], x.shape().extent[axis]);
  }
  template <class Check>
  static void sweep(Check& check) {
    check.run("pad", [](auto in) { return sin(pad(in[0], 1, 2, 1, 0.5)); }, {{2, 2, 3}});
    check.run("pad before samples that are not outermost",
              [](auto in) { return sin(pad(transpose(in[0], {1, 0, 2}), 0, 1, 2)); }, {Shape::per_sample({2, 3})});
  }
};

/// Adds `before` and `after` places, which hold `value`, to x along `axis` (negative: from the end).
/// Errors: an axis out of range; the sample axis; fewer than 0 places; integers.
constexpr Var pad(Var x, int axis, std::int64_t before, std::int64_t after, double value) {
  if (!detail::given(Pad::name, {x})) return {};
  const int at = detail::inner_axis(x, Pad::name, axis);
  if (at < 0) return {};
  constexpr std::int64_t most = std::int64_t{1} << 60;  // three of them can be added
  if (before < 0 || after < 0 || before > most || after > most)
    return x.tape->fail(Message() << "pad: " << before << " and " << after << " places cannot be added to " << x.shape(), {x});
  if (x.dtype() == DType::i32) return refuse_integers(Pad::name, &x, 1);
  if (before + after == 0) return x;
  Shape shape = x.shape();
  shape.extent[at] += before + after;
  return x.tape->record(op_info<Pad>, {x}, shape, x.dtype(), {.number = value, .integer = {at, before}});
}

}  // namespace gradual
