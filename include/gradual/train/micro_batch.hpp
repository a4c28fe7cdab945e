#pragma once
#include <bit>
#include <cstdint>

namespace gradual {

/// Which micro-batches are preferred: the largest that fits, only powers of two, or only divisors of the window, so that all
/// have one size.
enum class Prefer : unsigned char { largest, power_of_two, divisor };

/// Returns the largest batch up to `limit` for which need(batch), a nondecreasing function, is at most `budget` bytes; 0 where
/// even one sample needs more. Uses false position (Illinois; Dowell & Jarratt, BIT 11, 1971): need is nearly affine, so a few
/// calls suffice.
template <class Need>
constexpr std::int64_t largest_fitting(std::int64_t limit, std::int64_t budget, Need need) {
  if (limit <= 0 || need(1) > budget) return 0;
  std::int64_t low = 1, high = limit;
  const std::int64_t most = need(limit);
  if (most <= budget) return limit;
  double below = static_cast<double>(budget - need(1)), above = static_cast<double>(most - budget);
  for (bool was_low = false, was_high = false; high - low > 1;) {
    const auto step = static_cast<std::int64_t>(static_cast<double>(high - low) * (below / (below + above)));
    const std::int64_t batch = step < 1 ? low + 1 : step >= high - low ? high - 1 : low + step;
    const std::int64_t bytes = need(batch);
    const bool fits = bytes <= budget;
    if (fits)
      low = batch, below = static_cast<double>(budget - bytes), above /= was_low ? 2 : 1;
    else
      high = batch, above = static_cast<double>(bytes - budget), below /= was_high ? 2 : 1;
    was_low = fits, was_high = !fits;
  }
  return low;
}

/// Returns the micro-batch for a window of `window` samples for which need(micro-batch) is at most `budget` bytes; 0 where
/// nothing fits. Prefers multiples of `block`: they end on blocks, so they leave none open and need less.
template <class Need>
constexpr std::int64_t pick_micro_batch(std::int64_t window, std::int64_t block, std::int64_t budget,
                                        Prefer prefer, Need need) {
  if (prefer == Prefer::power_of_two) {
    auto batch = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(window)));
    while (batch > 0 && need(batch) > budget) batch /= 2;
    return batch;
  }
  if (need(window) <= budget) return window;
  if (prefer == Prefer::divisor) {
    std::int64_t parts = 2;
    for (; parts <= window / parts; ++parts)
      if (window % parts == 0 && need(window / parts) <= budget) return window / parts;
    for (std::int64_t batch = parts - 1; batch > 0; --batch)
      if (window % batch == 0 && need(batch) <= budget) return batch;
    return 0;
  }
  // Bytes are nondecreasing over the multiples of a block, and over the sizes below one block.
  const std::int64_t blocks =
      largest_fitting((window - 1) / block, budget, [&](std::int64_t n) { return need(n * block); });
  if (blocks > 0) return blocks * block;
  return largest_fitting(block - 1 < window - 1 ? block - 1 : window - 1, budget, need);
}

}  // namespace gradual
