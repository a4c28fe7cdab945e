#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// The same elements, row-major, under other extents. The sample axis stays outermost among what it is merged with.
struct Reshape {
  static constexpr const char* name = "reshape";
  static constexpr int arity = 1;
  static constexpr Kind kind = Kind::reshape;
  static constexpr Var vjp(Var g, Var x, Var) { return reshape(g, x.shape()); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("reshape", [](auto in) { return matmul(reshape(square(in[0]), Shape{6, 2}), in[1]); }, {{3, 4}, {2, 2}});
    check.run("flatten", [](auto in) { return matmul(flatten(in[0]), in[1]); }, {Shape::per_sample({2, 2}), {4, 2}});
  }
};

/// `shape` must have as many elements per sample as x.
/// Errors: other counts; a sample axis in one of them alone, or one that would have to be split or merged as an inner factor.
template <class>
constexpr Var reshape(Var x, const Shape& shape) {
  if (!detail::given(Reshape::name, {x}) || x.shape() == shape) return x;
  if (!shape.countable()) return x.tape->record(op_info<Reshape>, {x}, shape, x.dtype());  // which refuses it
  const Shape from = x.shape();
  if (from.unit() == shape.unit() && from.batched() != shape.batched())
    return x.tape->fail(Message() << "reshape: " << from << " to " << shape << ": only one has a sample axis"
                                  << (from.batched() ? ", which Shape::per_sample({...}) gives the other" : ""), {x});
  if (from.unit() != shape.unit())
    return x.tape->fail(Message() << "reshape: " << from << " has other elements than " << shape, {x});
  if (from.batched() && from.product(0, from.batch_axis) != shape.product(0, shape.batch_axis))
    return x.tape->fail(Message() << "reshape: the sample axis of " << from << " cannot be moved inward to " << shape, {x});
  return x.tape->record(op_info<Reshape>, {x}, shape, x.dtype());
}

/// Everything but the sample axis in one axis: [batch, features].
constexpr Var flatten(Var x) {
  if (!detail::given("flatten", {x})) return {};
  return reshape(x, Shape::per_sample({x.shape().unit()}));
}

}  // namespace gradual
