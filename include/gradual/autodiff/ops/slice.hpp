#pragma once
#include <array>

#include <gradual/autodiff/ops/inner_axis.hpp>

namespace gradual {

/// Consecutive places along axis `integer[0]`, from place `integer[1]` on. Read in place, not copied.
struct Slice {
  static constexpr const char* name = "slice";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::slice;
  static constexpr Var vjp(Var g, Var x, Var y) {
    const int axis = static_cast<int>(y.attributes().integer[0]);
    const std::int64_t first = y.attributes().integer[1];
    return pad(g, axis, first, x.shape().extent[axis] - first - y.shape().extent[axis]);
  }
  template <class Check>
  static void sweep(Check& check) {
    check.run("slice", [](auto in) { return square(slice(in[0], 1, 1, 2)); }, {{2, 4, 3}});
    check.run("slice from the end", [](auto in) { return square(slice(in[0], -1, -2, 2)); }, {Shape::per_sample({2, 3})});
  }
};

/// Returns the places [first, first + count) along `axis`; a negative axis or place counts from the end.
/// Errors: an axis out of range; the sample axis; places that x does not have, or none at all.
constexpr Var slice(Var x, int axis, std::int64_t first, std::int64_t count) {
  if (!detail::given(Slice::name, {x})) return {};
  const int at = detail::inner_axis(x, Slice::name, axis);
  if (at < 0) return {};
  Shape shape = x.shape();
  const std::int64_t extent = shape.extent[at], from = first < 0 ? first + extent : first;
  if (count < 1 || from < 0 || from >= extent || count > extent - from)
    return x.tape->fail(Message() << "slice: a length of " << count << " from place " << first << " does not fit axis " << axis
                                  << " of " << shape, {x});
  if (count == extent) return x;
  shape.extent[at] = count;
  return x.tape->record(op_info<Slice>, {x}, shape, x.dtype(), {.integer = {at, from}});
}

/// Returns one place along `axis`, which the result's shape lacks. Errors: those of `slice`.
constexpr Var select(Var x, int axis, std::int64_t place) {
  const detail::Composite called("select", x);
  const Var one = slice(x, axis, place, 1);
  if (!one.valid()) return {};
  const int at = from_front(axis, one.shape().rank);
  Shape shape;
  for (int i = 0; i < one.shape().rank; ++i) {
    if (i == one.shape().batch_axis) shape.batch_axis = shape.rank;
    if (i != at) shape.extent[shape.rank++] = one.shape().extent[i];
  }
  return reshape(one, shape);
}

/// Splits x into `Parts` slices of equal extents: auto [q, k, v] = split<3>(x). Errors: those of `slice`; an extent that is not
/// a multiple of `Parts`.
template <int Parts>
constexpr std::array<Var, Parts> split(Var x, int axis = -1) {
  std::array<Var, Parts> parts;
  const int at = detail::given("split", {x}) ? detail::inner_axis(x, "split", axis) : -1;
  if (at < 0) return parts;
  const std::int64_t extent = x.shape().extent[at], each = extent / Parts;
  if (each * Parts != extent || each == 0) {
    x.tape->fail(Message() << "split: axis " << axis << " of " << x.shape() << " cannot be split into " << Parts
                           << " equal parts", {x});
    return parts;
  }
  for (int i = 0; i < Parts; ++i) parts[static_cast<std::size_t>(i)] = slice(x, at, i * each, each);
  return parts;
}

}  // namespace gradual
