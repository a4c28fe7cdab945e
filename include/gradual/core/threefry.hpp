#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Returns 64 random bits for a counter under a key: Threefry2x32-20 (Salmon et al. 2011). It uses only additions and
/// rotations, so that loops over counters become vector code, unlike Philox with its wide products.
GRADUAL_HD GRADUAL_INLINE constexpr std::uint64_t threefry(std::uint64_t key, std::uint64_t counter) {
  const std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t keys[] = {k0, k1, 0x1BD11BDAu ^ k0 ^ k1};
  constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  std::uint32_t x = static_cast<std::uint32_t>(counter) + k0, y = static_cast<std::uint32_t>(counter >> 32) + k1;
  GRADUAL_UNROLL(5)
  for (std::uint32_t block = 0; block < 5; ++block) {
    GRADUAL_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      const int r = rotations[block % 2 * 4 + static_cast<unsigned>(i)];
      x += y;
      y = (y << r | y >> (32 - r)) ^ x;
    }
    x += keys[(block + 1) % 3];
    y += keys[(block + 2) % 3] + block + 1;
  }
  return std::uint64_t{y} << 32 | x;
}

}  // namespace gradual
