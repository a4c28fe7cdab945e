#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace gradual {

/// A drawing of samples with replacement, each in proportion to its weight (Devroye 1986, III.2: inversion of the cumulative
/// sums). The sums are of doubles, in order, so that all machines draw the same samples. If n weights sum to 1, a sample of
/// weight w has the probability w to within 2⁻⁵¹ + n·w·2⁻⁵³, and 0 if w is 0.
class WeightedDraw {
 public:
  /// Errors: DataError for a weight that is negative, infinite or NaN, weights that are all 0, and a sum that overflows.
  explicit WeightedDraw(std::span<const double> weights);

  /// Fills `order` with sample numbers, each determined by (seed, epoch, place in `order`) alone.
  void operator()(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) const;

  /// Returns a hash of everything that determines the draw.
  std::uint64_t hash() const;

 private:
  double total_ = 0;
  std::vector<double> sums_;  // cumulative, up to each sample before the last of positive weight
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/weighted_draw.ipp>
#endif
