#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// One number, `number[0]`, at every element of its shape; never stored.
struct Constant {
  static constexpr const char* name = "constant";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::constant;
};

constexpr Var constant_like(Var like, double value) {
  if (!like.valid()) return {};
  Attributes attributes;
  attributes.number[0] = value;
  Var v = like.tape->record(op_info<Constant>, {}, like.shape(), like.dtype(), attributes);
  return v;
}

/// The index along `axis`, as int32, in the shape of `like`. Errors: the sample axis, along which a sample's index would
/// depend on how the window is cut.
struct Iota {
  static constexpr const char* name = "iota";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::iota;
};

constexpr Var iota(Var like, int axis) {
  if (!like.valid()) return {};
  if (axis == like.shape().batch_axis)
    return like.tape->fail(Message() << "iota: the index along the sample axis of " << like.shape()
                                     << " depends on the micro-batch" << like.tape->in_layer({like}).view());
  Attributes attributes;
  attributes.integer[0] = axis;
  return like.tape->record(op_info<Iota>, {}, like.shape(), DType::i32, attributes);
}

}  // namespace gradual
