#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// One number, `number`, at every element of its shape; never stored.
struct Constant {
  static constexpr const char* name = "constant";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::constant;
};

/// `value` at every element of another shape than that of `like`, in its type: one without samples is the same for all of them,
/// and what is made of it alone is made once per window. Errors: TypeError for a number beside integers that is none.
constexpr Var constant_like(Var like, const Shape& shape, double value) {
  if (!like.valid()) return {};  // the op that it is for says so
  const bool integer = value >= -0x1p31 && value < 0x1p31 && value == static_cast<double>(static_cast<std::int64_t>(value));
  if (like.dtype() == DType::i32 && !integer)
    return like.tape->fail<TypeError>(Message()
                                      << "a number that is no int32 stands beside integers: convert them to float first",
                            {like});
  Attributes attributes;
  attributes.number = value;
  Var v = like.tape->record(op_info<Constant>, {}, shape, like.dtype(), attributes);
  return v;
}
/// The same in the shape of `like`.
constexpr Var constant_like(Var like, double value) {
  return like.valid() ? constant_like(like, like.shape(), value) : Var{};
}

}  // namespace gradual
