#pragma once
#include <bit>
#include <cstdint>

#include <gradual/cuda/numerics.hpp>

namespace gradual::cuda {

/// A number as coarse as `Precision` allows an operand to be.
inline float rounded(float x, Precision precision) {
  const std::uint32_t lost = precision == Precision::float32 ? 0u : precision == Precision::tf32 ? 0x1fffu : 0xffffu;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~lost);
}

}  // namespace gradual::cuda
