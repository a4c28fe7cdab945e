#pragma once
#include <cstdint>

#include <gradual/core/dtype.hpp>

namespace gradual::eager {

/// Calls f(a value of the type).
template <class F>
decltype(auto) with_type(DType dtype, F f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  return f(std::int32_t{});
}

}  // namespace gradual::eager
