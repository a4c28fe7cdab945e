#pragma once
#include <gradual/data/average_precision.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include <gradual/core/math/bits.hpp>

namespace gradual::detail {

GRADUAL_ONCE double average_precision(ScoredSamples<double>& samples) {
  double most = 0, found = 0, taken = 0, sum = 0;
  for (const auto& [score, weight] : samples) most = std::max(most, std::abs(weight));
  for (auto& [score, weight] : samples)  // by a power of two, so that no sum overflows
    if (most > 0) weight = std::ldexp(weight, -std::ilogb(most));
  std::ranges::sort(samples, std::greater<>());  // weights too: libraries sort ties differently, and sums are rounded
  for (auto at = samples.begin(); at != samples.end();) {
    double positives = 0;
    for (const double score = at->first; at != samples.end() && at->first == score; ++at)
      taken += std::abs(at->second), positives += std::max(at->second, 0.0);
    found += positives;
    if (positives > 0) sum += positives * (found / taken);
  }
  return found > 0 ? sum / found : math::quiet_nan<double>();
}

}  // namespace gradual::detail
