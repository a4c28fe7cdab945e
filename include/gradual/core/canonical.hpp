#pragma once
// Canonical order: the one order in which sums are computed, so that their bits depend on the numbers alone, not on how a
// window was split, on threads, vectors or the device. A product or a convolution sums along k, in blocks of at most 128. A sum
// over the batch, such as a weight gradient, runs along the positions of the window, p per sample: where p < 128, a block is
// the largest power of two of whole samples with at most 128 positions, counted from the window's first; else each sample is
// cut into blocks of at most 128. A block is one chain from +0, of fma where products are summed; it is added to the total,
// which starts from +0, block after block. A reduction inside one sample goes through its elements in row-major order: lane i
// of 32 is the chain of elements i, i + 32, …; then lane i adds lane i + 16, i + 8, i + 4, i + 2, i + 1.
#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual {

/// Positions of the longest block. A power of two; part of the numerics.
inline constexpr std::int64_t canonical_block = 128;

/// Lanes of a reduction inside one sample.
inline constexpr int canonical_lanes = 32;

/// Returns the positions of one block where each sample has p: whole samples if any fit, else a piece of one sample. The result
/// is arbitrary where samples have none.
GRADUAL_HD constexpr std::int64_t block_positions(std::int64_t p) {
  if (p == 0) return canonical_block;
  std::int64_t samples = canonical_block;
  while (samples > 1 && samples * p > canonical_block) samples /= 2;
  return p < canonical_block ? samples * p : canonical_block;
}

/// Returns the samples of one block where each has p positions; 1 if one sample fills a block or has none.
GRADUAL_HD constexpr std::int64_t block_samples(std::int64_t p) {
  return p > 0 && p < canonical_block ? block_positions(p) / p : 1;
}

/// Returns the first position, counted from the window's beginning, of the block that holds position `at`.
GRADUAL_HD constexpr std::int64_t block_begin(std::int64_t at, std::int64_t p) {
  const std::int64_t length = block_positions(p);
  if (p < canonical_block) return at / length * length;
  const std::int64_t sample = at / p * p;
  return sample + (at - sample) / length * length;
}

/// Returns the position after the last one of that block.
GRADUAL_HD constexpr std::int64_t block_end(std::int64_t at, std::int64_t p) {
  const std::int64_t end = block_begin(at, p) + block_positions(p);
  if (p < canonical_block) return end;
  const std::int64_t sample_end = (at / p + 1) * p;
  return end < sample_end ? end : sample_end;
}

/// Whether a block has begun before position `at` and goes on there.
GRADUAL_HD constexpr bool is_inside_block(std::int64_t at, std::int64_t p) { return block_begin(at, p) != at; }

/// Returns the number, within the window, of the block that holds position `at`.
GRADUAL_HD constexpr std::int64_t block_number(std::int64_t at, std::int64_t p) {
  if (p < canonical_block) return at / block_positions(p);
  return at / p * ((p + canonical_block - 1) / canonical_block) + at % p / canonical_block;
}

}  // namespace gradual
