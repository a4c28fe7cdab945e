#pragma once
#include <gradual/core/math/cos.hpp>
#include <gradual/core/math/log.hpp>
#include <gradual/core/math/sqrt.hpp>
#include <gradual/core/philox.hpp>

namespace gradual {

/// Returns a normal number of mean 0 and standard deviation 1 (Box and Muller 1958), from the 64 bits of (seed, stream, index).
template <class T>
GRADUAL_HD constexpr T normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, stream, index);
  // 1 + the upper 32 bits, exactly, and the lower 24; as signed integers, since vectors cannot convert unsigned ones to floats.
  const double above = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32) ^ 0x80000000u) + 0x80000001p0;
  const T radius = static_cast<T>(above) * T(0x1p-32),
          turn = static_cast<T>(static_cast<std::int32_t>(bits & 0xffffffu)) * T(0x1p-24);
  return math::sqrt(T(-2) * math::log(radius)) * math::cos(T(6.283185307179586) * turn);
}

}  // namespace gradual
