#pragma once
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gradual/core/error.hpp>
#include <gradual/core/fnv.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/core/philox.hpp>
#include <gradual/core/shuffle.hpp>

namespace gradual {

/// Draws samples with replacement, each in proportion to its weight (Devroye 1986, III.2: inversion of their sums). The sums
/// are of doubles, in order, so that all machines draw the same samples. Of n weights whose sum is 1, the probability of one of
/// w is w to within 2⁻⁵¹ + n·w·2⁻⁵³, and 0 where w is 0.
class WeightedDraw {
 public:
  /// Errors: DataError for a weight that is negative, infinite or NaN, weights that are all 0, and a sum that overflows.
  explicit WeightedDraw(std::span<const double> weights) {
    sums_.reserve(weights.size());
    for (const double weight : weights) {
      if (!(weight >= 0 && weight <= std::numeric_limits<double>::max()))
        throw DataError("draw: sample " + std::to_string(sums_.size()) + ": a weight of " + detail::brief_text(weight));
      sums_.push_back(total_ += weight);
    }
    if (total_ == 0) throw DataError("draw: the weights of all " + std::to_string(weights.size()) + " samples are 0");
    if (total_ > std::numeric_limits<double>::max())
      throw DataError("draw: the weights of " + std::to_string(weights.size()) + " samples have an infinite sum");
    sums_.erase(std::ranges::lower_bound(sums_, total_), sums_.end());  // what lies beyond the others is the last that weighs
  }

  /// Fills `order` with the numbers of samples, drawn by (seed, epoch, place in `order`) alone.
  void operator()(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) const {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double place = uniform<double>(seed, shuffle_stream | epoch, i) * total_;
      order[i] = static_cast<std::int32_t>(std::ranges::upper_bound(sums_, place) - sums_.begin());
    }
  }

  /// A hash of all that decides what is drawn.
  std::uint64_t hash() const {
    return fnv(fnv(fnv_begin, std::as_bytes(std::span(sums_))), std::as_bytes(std::span(&total_, 1)));
  }

 private:
  double total_ = 0;
  std::vector<double> sums_;  // up to each sample, without the last that weighs anything
};

}  // namespace gradual
