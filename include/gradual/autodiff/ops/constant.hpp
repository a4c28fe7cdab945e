#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// One number, `number`, at every element of its shape; never stored.
struct Constant {
  static constexpr const char* name = "constant";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::constant;
};

/// Returns `value` at every element of `shape`, in the type of `like`. A constant without samples is shared by all of them, and
/// what depends on it alone is computed once per window. Errors: TypeError for a `value` that is no int32 beside integers.
constexpr Var constant_like(Var like, const Shape& shape, double value) {
  if (!like.valid()) return {};  // the op that uses it reports the error
  const bool integer = value >= -0x1p31 && value < 0x1p31 && value == static_cast<double>(static_cast<std::int64_t>(value));
  if (like.dtype() == DType::i32 && !integer)
    return like.tape->fail<TypeError>(Message()
                                      << "a number that is not an int32 is combined with integers: convert them to float first",
                            {like});
  return like.tape->record(op_info<Constant>, {}, shape, like.dtype(), {.number = value});
}
/// Does the same in the shape of `like`.
constexpr Var constant_like(Var like, double value) {
  return like.valid() ? constant_like(like, like.shape(), value) : Var{};
}

}  // namespace gradual
