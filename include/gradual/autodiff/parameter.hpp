#pragma once
#include <vector>

#include <gradual/autodiff/ops.hpp>

namespace gradual {

/// A declared parameter; becomes a value where it is read on a tape: as an operand beside a `Var`, or by `on`.
struct Parameter {
  int index = -1;
  const std::vector<ParameterInfo>* declared = nullptr;  ///< among these

  /// Whether it was declared: the bias of a layer that has none was not.
  constexpr bool exists() const { return index >= 0; }
  /// The parameter's value on the tape of `x`: in what parameters are held in (float, or double in a net of doubles) or, where
  /// x has 16 bits, rounded to x's type. Errors: TapeError where that tape has the values of another model, and for a bias that
  /// a layer is without.
  constexpr Var on(Var x) const {
    if (!x.valid()) return {};
    if (!exists())
      return x.tape->fail<TapeError>(Message() << "a layer without a bias was asked for it", {x});
    if (x.tape->declared != nullptr && x.tape->declared != declared)
      return x.tape->fail<TapeError>(Message() << "parameter " << index << " is of another model than the tape's");
    const Var value = parameter(*x.tape, index);
    return is_small(x.dtype()) ? convert(value, x.dtype()) : value;
  }
};

// Beside a Var x, the same as p.on(x).
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
