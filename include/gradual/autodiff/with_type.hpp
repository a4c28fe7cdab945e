#pragma once
#include <cstdint>
#include <string>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Calls f(a value of the type, which has 16 bits).
template <class F>
decltype(auto) with_small(DType dtype, F f) {
  if (dtype == DType::bf16) return f(bf16{});
  return f(f16{});
}

/// Calls f(a value of the type that elements of this type are computed in).
template <class F>
decltype(auto) with_computed(DType dtype, F f) {
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::i32) return f(std::int32_t{});
  return f(float{});
}

/// Calls f(a value of the type).
template <class F>
decltype(auto) with_type(DType dtype, F f) {
  if (is_small(dtype)) return with_small(dtype, f);
  return with_computed(dtype, f);
}

/// Does the same for any value of a compiled net: its inputs may be bytes.
template <class F>
decltype(auto) with_element(DType dtype, F f) {
  if (dtype == DType::u8) return f(std::uint8_t{});
  return with_type(dtype, f);
}

/// Calls f(a value of the type in which the node is computed). Errors: TypeError for integers.
template <class F>
decltype(auto) with_real(const Node& node, F f) {
  if (node.dtype == DType::f64) return f(double{});
  if (node.dtype == DType::i32) throw TypeError(std::string(node.op->name) + ": does not support integers");
  return f(float{});
}

}  // namespace gradual
