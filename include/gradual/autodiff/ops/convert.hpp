#pragma once
#include <gradual/autodiff/ops/from_integer.hpp>

namespace gradual {

/// The same number as another floating-point type: exact where that type holds it, else rounded to nearest, ties to even;
/// double is converted to 16-bit types via float.
struct Convert {
  static constexpr const char* name = "convert";
  static constexpr int arity = 1;
  static constexpr Domain domain{-3, 3};
  static constexpr Special specials[] = {{{-0.0}, -0.0, {1}}, {{special::inf}, special::inf, {1}}};
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x;
  }
  static constexpr Var vjp(Var g, Var, Var) { return g; }  // `backward` converts it to x's type
  template <class Check>
  static void sweep(Check& check) {
    check.run("convert", [](auto in) {
      const DType own = in[0].dtype(), other = own == DType::f64 ? DType::f32 : DType::f64;
      return convert(square(convert(in[0], other)), own);
    }, {{7}});
  }
};

/// Converts x to elements of `dtype`, such as DType::bf16; integers via float, exact up to 2^24. Errors: TypeError for
/// conversions to integers or bytes.
constexpr Var convert(Var x, DType dtype) {
  if (!detail::given(Convert::name, {x}) || x.dtype() == dtype) return x;
  if (x.dtype() == DType::i32) return convert(elementwise<FromInteger>(x), dtype);
  if (dtype == DType::i32 || dtype == DType::u8)
    return x.tape->fail<TypeError>(Message() << "convert: " << name_of(x.dtype()) << " cannot be converted to "
                                             << name_of(dtype), {x});
  return x.tape->record(op_info<Convert>, {x}, x.shape(), dtype);
}

}  // namespace gradual
