#pragma once
#include <initializer_list>

#include <gradual/autodiff/tape.hpp>

namespace gradual::detail {

/// Makes the tape fail for operands that are not values of one tape. Errors: TapeError.
[[gnu::cold, gnu::noinline]] constexpr void refuse_operands(const char* op, const Var* operands, int count) {
  Tape* tape = nullptr;
  bool all = true;
  for (int i = 0; i < count; ++i) {
    all = all && operands[i].valid();
    if (operands[i].valid()) tape = operands[i].tape;
  }
  const Message text = Message() << op << (all ? ": operands belong to different tapes" : ": an operand is an empty Var");
  if (tape != nullptr) tape->fail<TapeError>(text);
  if (!std::is_constant_evaluated()) throw TapeError(text.string());
}

/// Checks that all operands of `op` are values of one tape. Errors: TapeError. In constant evaluation an operand may be invalid
/// because of an earlier error, which the tape keeps; if all are invalid, only the missing loss reveals it.
constexpr bool given(const char* op, const Var* operands, int count) {
  for (int i = 0; i < count; ++i)
    if (!operands[i].valid() || operands[i].tape != operands[0].tape) {
      refuse_operands(op, operands, count);
      return false;
    }
  return true;
}
constexpr bool given(const char* op, std::initializer_list<Var> operands) {
  return given(op, operands.begin(), static_cast<int>(operands.size()));
}

/// A function called by users that is made of several ops: while it lives, errors name it before the op that found them.
class Composite {
 public:
  constexpr Composite(const char* name, Var x) : tape_(given(name, {x}) ? x.tape : nullptr) {
    if (tape_ == nullptr || !tape_->composite.empty()) tape_ = nullptr;
    else tape_->composite = name;
  }
  constexpr ~Composite() {
    if (tape_ != nullptr) tape_->composite = {};
  }
  Composite(const Composite&) = delete;
  Composite& operator=(const Composite&) = delete;

 private:
  Tape* tape_;  ///< null inside another composite, whose name errors keep
};

}  // namespace gradual::detail
