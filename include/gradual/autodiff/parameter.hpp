#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>

namespace gradual {

/// A declared parameter. It becomes a value when it is read on a tape: as an operand next to a `Var`, or by `on`.
struct Parameter {
  int index = -1;
  const std::vector<ParameterInfo>* declared = nullptr;  ///< the list that `index` refers to

  /// Whether it was declared: the bias of a layer without one was not.
  constexpr bool exists() const { return index >= 0; }
  /// Returns the parameter's value on the tape of `x`, in the type that parameters are held in (float, or double in a net of
  /// doubles) or, where x has 16 bits, rounded to x's type. Errors: TapeError if that tape has the values of another model, and
  /// for the bias of a layer without one.
  constexpr Var on(Var x) const {
    if (!x.valid()) return {};
    if (!exists())
      return x.tape->fail<TapeError>(Message() << "a layer without a bias was asked for its bias", {x});
    if (x.tape->declared != nullptr && x.tape->declared != declared)
      return x.tape->fail<TapeError>(Message() << "parameter " << index << " belongs to another model than the tape's");
    const Var value = parameter(*x.tape, index);
    return is_small(x.dtype()) ? convert(value, x.dtype()) : value;
  }
};

// Next to a Var x, p means p.on(x).
constexpr Var operator+(Var x, const Parameter& p) { return x + p.on(x); }
constexpr Var operator+(const Parameter& p, Var x) { return p.on(x) + x; }
constexpr Var operator-(Var x, const Parameter& p) { return x - p.on(x); }
constexpr Var operator-(const Parameter& p, Var x) { return p.on(x) - x; }
constexpr Var operator*(Var x, const Parameter& p) { return x * p.on(x); }
constexpr Var operator*(const Parameter& p, Var x) { return p.on(x) * x; }
constexpr Var operator/(Var x, const Parameter& p) { return x / p.on(x); }
constexpr Var operator/(const Parameter& p, Var x) { return p.on(x) / x; }
constexpr Var matmul(Var x, const Parameter& p, bool transpose_x = false, bool transpose_p = false) {
  return matmul(x, p.on(x), transpose_x, transpose_p);
}
constexpr Var gather(const Parameter& table, Var index) { return gather(table.on(index), index); }

}  // namespace gradual
