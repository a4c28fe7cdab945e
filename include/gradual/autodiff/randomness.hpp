#pragma once
#include <gradual/core/philox.hpp>

namespace gradual {

/// What the random numbers of one micro-batch depend on: never on how the window was cut, or on what ran before.
struct Randomness {
  bool on = false;       ///< off: masks are 1, as in evaluation
  std::uint64_t seed = 0;
  std::uint64_t round = 0;                ///< the epoch, or the optimizer step where there is no data set
  const std::int32_t* samples = nullptr;  ///< the samples' indices in the data set, or null: those in the window
  std::int64_t begin = 0;                 ///< index in the window of the first sample

  /// Keys the elements of one sample of a random op, `source` being its own number below 2⁶². Those of two ops are so far
  /// apart that none comes to the other's by adding rounds.
  GRADUAL_HD constexpr std::uint64_t key(std::int64_t source, std::int64_t sample) const {
    constexpr std::uint64_t random_ops = std::uint64_t{1} << 62;
    const std::uint64_t stream = random_ops | ((static_cast<std::uint64_t>(source) + round) & (random_ops - 1));
    return random_bits(seed, stream, static_cast<std::uint64_t>(samples != nullptr ? samples[sample] : begin + sample));
  }
};

}  // namespace gradual
