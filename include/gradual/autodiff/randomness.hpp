#pragma once
#include <gradual/core/philox.hpp>

namespace gradual {

/// All that the random numbers of one micro-batch depend on, which is never how the window was cut, or what ran before.
struct Randomness {
  bool on = false;       ///< off: masks are 1, as in evaluation
  std::uint64_t seed = 0;
  std::uint64_t round = 0;                ///< the epoch, or the optimizer step where there is no data set
  const std::int32_t* samples = nullptr;  ///< the samples' indices in the data set, or null: those in the window
  std::int64_t begin = 0;                 ///< index in the window of the first sample
  std::uint64_t step = 0;                 ///< optimizer steps made: distinguishes draws without samples

  static constexpr std::uint64_t evaluation = std::uint64_t{1} << 61;  ///< a round and a step that no training reaches

  /// Returns the one for evaluations that draw, all the same numbers. `first`: where the micro-batch begins in the data set.
  constexpr Randomness of_evaluation(std::int64_t first) const { return {true, seed, evaluation, nullptr, first, evaluation}; }

  /// Returns the key for the elements of a random op, whose own number below 2⁶² is `source`: those of one sample or, if the op
  /// has no samples (not `batched`), those of the step.
  GRADUAL_HD constexpr std::uint64_t key(std::int64_t source, bool batched, std::int64_t sample) const {
    return batched ? of_sample(source, sample) : of_step(source);
  }

 private:
  static constexpr std::uint64_t sample_draws = std::uint64_t{1} << 62, step_draws = std::uint64_t{3} << 62;

  /// The numbers of two ops are so far apart that adding rounds to one never reaches the other.
  GRADUAL_HD constexpr std::uint64_t of_sample(std::int64_t source, std::int64_t sample) const {
    const std::uint64_t stream = sample_draws | ((static_cast<std::uint64_t>(source) + round) & (sample_draws - 1));
    return random_bits(seed, stream, static_cast<std::uint64_t>(samples != nullptr ? samples[sample] : begin + sample));
  }
  GRADUAL_HD constexpr std::uint64_t of_step(std::int64_t source) const {
    return random_bits(seed, step_draws | static_cast<std::uint64_t>(source), step);
  }
};

}  // namespace gradual
