#pragma once
#include <cstdint>
#include <string>

#include <gradual/core/error.hpp>

namespace gradual {

/// The largest micro-batch of a window of `window` samples that needs at most `budget` bytes, of which need(micro-batch)
/// tells. Multiples of `block` end on blocks; they are preferred, since they leave no block open and so need less.
/// Errors: MemoryError with what one sample needs and what is given.
template <class Need>
std::int64_t largest_micro_batch(std::int64_t window, std::int64_t block, std::int64_t budget, Need need) {
  if (need(window) <= budget) return window;
  const auto largest_multiple = [&](std::int64_t unit) {  // bytes are monotone among multiples that share a layout
    std::int64_t low = 0, high = (window - 1) / unit;
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      if (need(middle * unit) <= budget) low = middle;
      else high = middle - 1;
    }
    return low * unit;
  };
  if (const std::int64_t batch = largest_multiple(block); batch > 0) return batch;
  const std::int64_t batch = [&] {
    for (std::int64_t b = block - 1; b > 0; --b)
      if (b < window && need(b) <= budget) return b;
    return std::int64_t{0};
  }();
  if (batch == 0)
    throw MemoryError("training needs " + std::to_string(need(1)) + " bytes for one sample at a time, the budget is " +
                      std::to_string(budget));
  return batch;
}

}  // namespace gradual
