#pragma once
#include <cstdint>

#include <gradual/core/dtype.hpp>

namespace gradual::eager {

/// Calls f(a value of the floating-point type).
template <class F>
decltype(auto) with_number(DType dtype, F f) {
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::bf16) return f(bf16{});
  if (dtype == DType::f16) return f(f16{});
  return f(float{});
}

/// Calls f(a value of the type).
template <class F>
decltype(auto) with_type(DType dtype, F f) {
  if (dtype == DType::i32) return f(std::int32_t{});
  return with_number(dtype, f);
}

/// Calls f(a value of what elements of the type are computed in).
template <class F>
decltype(auto) with_computed(DType dtype, F f) {
  if (dtype == DType::i32) return f(std::int32_t{});
  if (dtype == DType::f64) return f(double{});
  return f(float{});
}

}  // namespace gradual::eager
