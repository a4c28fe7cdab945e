#pragma once
#include <cstdint>
#include <string>

#include <gradual/autodiff/tape.hpp>

namespace gradual::eager {

/// Calls f(a value of the type).
template <class F>
decltype(auto) with_type(DType dtype, F f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  return f(std::int32_t{});
}

/// Calls f(a value of the node's type). Errors: TypeError for integers.
template <class F>
decltype(auto) with_real(const Node& node, F f) {
  if (node.dtype == DType::f64) return f(double{});
  if (node.dtype == DType::i32) throw TypeError(std::string(node.op->name) + ": has no rule for integers");
  return f(float{});
}

}  // namespace gradual::eager
