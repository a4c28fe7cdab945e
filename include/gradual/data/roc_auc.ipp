#pragma once
#include <gradual/data/roc_auc.hpp>

#include <algorithm>
#include <cmath>

#include <gradual/core/math/bits.hpp>

namespace gradual::detail {

template <class Weight>
double area_of(ScoredSamples<Weight>& samples) {
  std::ranges::sort(samples);  // weights too: libraries sort ties differently, and sums are rounded
  Weight positives = 0, negatives = 0, twice_won = 0;
  for (auto at = samples.begin(); at != samples.end();) {
    Weight ties[2]{};  // of negatives, and of positives
    for (const double score = at->first; at != samples.end() && at->first == score; ++at)
      ties[at->second > 0] += std::abs(at->second);
    twice_won += ties[1] * (2 * negatives + ties[0]);
    negatives += ties[0], positives += ties[1];
  }
  if (positives == 0 || negatives == 0) return math::quiet_nan<double>();
  return static_cast<double>(twice_won) / (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

GRADUAL_ONCE double roc_auc(ScoredSamples<std::int64_t>& samples) { return area_of(samples); }
GRADUAL_ONCE double roc_auc(ScoredSamples<double>& samples) {
  double most[2]{};
  for (const auto& [score, weight] : samples) most[weight > 0] = std::max(most[weight > 0], std::abs(weight));
  for (auto& [score, weight] : samples)  // by powers of two, so that no product overflows
    if (weight != 0) weight = std::ldexp(weight, -std::ilogb(most[weight > 0]));
  return area_of(samples);
}

}  // namespace gradual::detail
