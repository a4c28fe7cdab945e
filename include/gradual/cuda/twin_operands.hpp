#pragma once
#include <bit>
#include <cstdint>

#include <gradual/core/dtype.hpp>
#include <gradual/cuda/numerics.hpp>

// What the twin's libraries share.
namespace gradual::cuda {

/// Calls f(E()) for the type E of a library's operands.
template <class F>
void with_elements(DType dtype, F f) {
  if (dtype == DType::bf16) f(bf16{});
  else if (dtype == DType::f16) f(f16{});
  else f(float{});
}

/// Returns x as coarse as `precision` allows an operand to be.
inline float rounded(float x, Precision precision) {
  const std::uint32_t lost = precision == Precision::float32 ? 0u : precision == Precision::tf32 ? 0x1fffu : 0xffffu;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~lost);
}

}  // namespace gradual::cuda
