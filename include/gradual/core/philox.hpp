#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Four words, as a type that device code may index.
struct PhiloxWords {
  std::uint32_t word[4]{};
  constexpr bool operator==(const PhiloxWords&) const = default;
};

/// Philox4x32-10 (Salmon et al. 2011): a keyed bijection of 128-bit counters; random access, no stream.
GRADUAL_HD constexpr PhiloxWords philox(std::uint64_t key, PhiloxWords counter) {
  std::uint32_t low = static_cast<std::uint32_t>(key), high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0], b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ high, static_cast<std::uint32_t>(a)}};
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
  return counter;
}

/// Returns 64 random bits for (seed, stream, index).
GRADUAL_HD constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const PhiloxWords r = philox(seed, {{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                                       static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}});
  return std::uint64_t{r.word[1]} << 32 | r.word[0];
}

/// Returns a uniform number in [0, 1), a multiple of 2⁻²⁴ (float) or 2⁻⁵³ (double).
template <class T>
GRADUAL_HD constexpr T uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = random_bits(seed, stream, index);
  if constexpr (sizeof(T) == 4) return static_cast<T>(static_cast<std::int32_t>(bits >> 40)) * T(0x1p-24);
  else return static_cast<T>(bits >> 11) * T(0x1p-53);
}

}  // namespace gradual
