#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gradual {

/// Draws samples with replacement, each in proportion to its weight (Devroye 1986, III.2: inversion of their sums). The sums
/// are of doubles, in order, so that all machines draw the same samples. Of n weights whose sum is 1, the probability of one of
/// w is w to within 2⁻⁵¹ + n·w·2⁻⁵³, and 0 where w is 0.
class WeightedDraw {
 public:
  /// Errors: DataError for a weight that is negative, infinite or NaN, weights that are all 0, and a sum that overflows.
  explicit WeightedDraw(std::span<const double> weights);

  /// Fills `order` with the numbers of samples, drawn by (seed, epoch, place in `order`) alone.
  void operator()(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) const;

  /// A hash of all that decides what is drawn.
  std::uint64_t hash() const;

 private:
  double total_ = 0;
  std::vector<double> sums_;  // up to each sample, without the last that weighs anything
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/weighted_draw.ipp>
#endif
