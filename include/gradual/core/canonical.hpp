#pragma once
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Contract 3: the longest chain of a contraction. A power of two; part of the numerics.
inline constexpr std::int64_t canonical_block = 128;

/// Contract 3: a row is summed in 32 lanes, which are then joined in a tree.
inline constexpr int canonical_lanes = 32;

/// Positions of one block where each sample has p: whole samples while they fit, else pieces of one sample. Any number where
/// samples have none.
GRADUAL_HD constexpr std::int64_t block_positions(std::int64_t p) {
  if (p == 0) return canonical_block;
  std::int64_t samples = canonical_block;
  while (samples > 1 && samples * p > canonical_block) samples /= 2;
  return p < canonical_block ? samples * p : canonical_block;
}

/// Samples of one block where each has p positions; 1 where these fill a block, or are none.
GRADUAL_HD constexpr std::int64_t block_samples(std::int64_t p) {
  return p > 0 && p < canonical_block ? block_positions(p) / p : 1;
}

/// First position, counted from the window's beginning, of the block that holds position `at`.
GRADUAL_HD constexpr std::int64_t block_begin(std::int64_t at, std::int64_t p) {
  const std::int64_t length = block_positions(p);
  if (p < canonical_block) return at / length * length;
  const std::int64_t sample = at / p * p;
  return sample + (at - sample) / length * length;
}

/// The position after the last one of that block.
GRADUAL_HD constexpr std::int64_t block_end(std::int64_t at, std::int64_t p) {
  const std::int64_t end = block_begin(at, p) + block_positions(p);
  if (p < canonical_block) return end;
  const std::int64_t sample_end = (at / p + 1) * p;
  return end < sample_end ? end : sample_end;
}

/// Which block of the window holds position `at`.
GRADUAL_HD constexpr std::int64_t block_number(std::int64_t at, std::int64_t p) {
  if (p < canonical_block) return at / block_positions(p);
  return at / p * ((p + canonical_block - 1) / canonical_block) + at % p / canonical_block;
}

}  // namespace gradual
