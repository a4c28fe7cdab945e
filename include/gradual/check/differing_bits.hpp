#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gradual {

/// Returns the number of bits in which two sequences differ; bits that only one has all count.
inline std::int64_t differing_bits(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t both = std::min(a.size(), b.size());
  std::int64_t bits = 8 * static_cast<std::int64_t>(std::max(a.size(), b.size()) - both);
  for (std::size_t i = 0; i < both; ++i) bits += std::popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return bits;
}

}  // namespace gradual
