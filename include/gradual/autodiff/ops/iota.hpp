#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// The index along axis `integer[0]`, as int32.
struct Iota {
  static constexpr const char* name = "iota";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::iota;
};

/// Returns the index along `axis` (negative: from the end), as int32, in the shape of `like`. Errors: an axis out of range; the
/// sample axis, along which a sample's index would depend on how the window is split.
constexpr Var iota(Var like, int axis) {
  if (!detail::given(Iota::name, {like})) return {};
  const Shape shape = like.shape();
  const int at = from_front(axis, shape.rank);
  if (at < 0 || at >= shape.rank)
    return like.tape->fail(Message() << "iota: axis " << axis << " does not fit shape " << shape, {like});
  if (at == shape.batch_axis)
    return like.tape->fail(Message() << "iota: the index along the sample axis of " << shape
                                     << " depends on the micro-batch", {like});
  return like.tape->record(op_info<Iota>, {}, shape, DType::i32, {.integer = {at}});
}

}  // namespace gradual
