#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// Permuted axes: axis i of the result is axis permutation[i] of x, four bits each in `integer[0]`.
struct Transpose {
  static constexpr const char* name = "transpose";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::transpose;
  static constexpr int source_axis(const Attributes& attributes, int axis) {
    return static_cast<int>(attributes.integer[0] >> (4 * axis)) & 15;
  }
  static constexpr Var vjp(Var g, Var x, Var y);
  template <class Check>
  static void sweep(Check& check) {
    check.run("transpose", [](auto in) { return matmul(transpose(sigmoid(in[0]), {2, 0, 1}), in[1]); }, {{2, 3, 2}, {3, 2}});
    check.run("transpose of samples", [](auto in) { return sin(transpose(in[0], {1, 0})); }, {Shape::per_sample({4})});
  }
};

namespace detail {
constexpr Var transpose(Var x, const int* permutation) {
  Attributes attributes;
  Shape shape = x.shape();
  bool identity = true;
  for (int i = 0; i < shape.rank; ++i) {
    attributes.integer[0] |= static_cast<std::int64_t>(permutation[i]) << (4 * i);
    shape.extent[i] = x.shape().extent[permutation[i]];
    if (permutation[i] == x.shape().batch_axis) shape.batch_axis = i;
    identity = identity && permutation[i] == i;
  }
  return identity ? x : x.tape->record(op_info<Transpose>, {x}, shape, x.dtype(), attributes);
}
}  // namespace detail

/// Permutes axes. Errors: not a permutation of the axes of x.
constexpr Var transpose(Var x, Axes permutation) {
  if (!detail::given(Transpose::name, {x})) return {};
  int axes[max_rank]{}, count = 0;
  unsigned seen = 0;
  for (int axis : permutation)
    if (count < max_rank && axis >= 0 && axis < x.shape().rank) {
      axes[count++] = axis;
      seen |= 1u << axis;
    }
  if (static_cast<int>(permutation.size()) != x.shape().rank || seen + 1 != 1u << x.shape().rank)
    return x.tape->fail(Message() << "transpose: not a permutation of the axes of " << x.shape(), {x});
  return detail::transpose(x, axes);
}

constexpr Var Transpose::vjp(Var g, Var, Var y) {
  int inverse[max_rank]{};
  for (int i = 0; i < y.shape().rank; ++i) inverse[source_axis(y.attributes(), i)] = i;
  return detail::transpose(g, inverse);
}

}  // namespace gradual
