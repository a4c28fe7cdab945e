#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// The same elements, row-major, with other extents. The sample axis stays outermost among the axes it is merged with.
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

/// Reshapes x to `shape`, which must have as many elements per sample.
/// Errors: another number of elements; a sample axis in only one of them, or one that would have to be split or merged as an
/// inner factor.
template <class>
constexpr Var reshape(Var x, const Shape& shape) {
  if (!detail::given(Reshape::name, {x}) || x.shape() == shape) return x;
  if (!shape.countable()) return x.tape->record(op_info<Reshape>, {x}, shape, x.dtype());  // which fails
  const Shape from = x.shape();
  if (from.unit() == shape.unit() && from.batched() != shape.batched())
    return x.tape->fail(Message() << "reshape: " << from << " to " << shape << ": only one has a sample axis"
                                  << (from.batched() ? ", which Shape::per_sample({...}) gives the other" : ""), {x});
  if (from.unit() != shape.unit())
    return x.tape->fail(Message() << "reshape: " << from << " does not have as many elements as " << shape, {x});
  if (from.batched() && from.product(0, from.batch_axis) != shape.product(0, shape.batch_axis))
    return x.tape->fail(Message() << "reshape: the sample axis of " << from << " cannot be moved inward to " << shape, {x});
  return x.tape->record(op_info<Reshape>, {x}, shape, x.dtype());
}

/// Merges all axes but the sample axis into one: [batch, features].
constexpr Var flatten(Var x) {
  if (!detail::given("flatten", {x})) return {};
  return reshape(x, Shape::per_sample({x.shape().unit()}));
}

}  // namespace gradual
