#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

/// The same number as another floating-point type: exact from float to double, else rounded to nearest. Programs record it
/// where sums are wider than what is summed; models and rules compute in one type.
struct Convert {
  static constexpr const char* name = "convert";
  static constexpr int arity = 1;
  static constexpr Domain domain{-3, 3};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x;
  }
  static constexpr Var vjp(Var g, Var x, Var) { return convert(g, x.dtype()); }
  template <class Check>
  static void sweep(Check& check) {
    check.run("convert", [](auto in) {
      const DType own = in[0].dtype(), other = own == DType::f64 ? DType::f32 : DType::f64;
      return convert(square(convert(in[0], other)), own);
    }, {{7}});
  }
};

constexpr Var convert(Var x, DType dtype) {
  if (!x.valid() || x.dtype() == dtype) return x;
  return x.tape->record(op_info<Convert>, {x}, x.shape(), dtype);
}

}  // namespace gradual
