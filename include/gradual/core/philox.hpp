#pragma once
#include <array>
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Philox4x32-10 (Salmon et al. 2011): a keyed bijection of 128-bit counters; random access, no stream.
GRADUAL_HD constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 2> key,
                                                         std::array<std::uint32_t, 4> counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0], b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// 64 random bits for (seed, stream, index).
GRADUAL_HD constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto r = philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                         static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)});
  return std::uint64_t{r[1]} << 32 | r[0];
}

/// Uniform in [0, 1), a multiple of 2⁻²⁴ (float) or 2⁻⁵³ (double).
template <class T>
GRADUAL_HD constexpr T uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, stream, index);
  if constexpr (sizeof(T) == 4) return static_cast<T>(bits >> 40) * T(0x1p-24);
  else return static_cast<T>(bits >> 11) * T(0x1p-53);
}

}  // namespace gradual
