#pragma once
#include <gradual/data/roc_auc.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::detail {

template <class Weight>
double area_of(std::vector<std::pair<double, Weight>>& samples) {
  std::ranges::sort(samples, {}, &std::pair<double, Weight>::first);
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

GRADUAL_ONCE double roc_auc(std::vector<std::pair<double, std::int64_t>>& samples) { return area_of(samples); }
GRADUAL_ONCE double roc_auc(std::vector<std::pair<double, double>>& samples) {
  double most[2]{};
  for (const auto& [score, weight] : samples) most[weight > 0] = std::max(most[weight > 0], std::abs(weight));
  for (auto& [score, weight] : samples)  // by powers of two, so that no product overflows
    if (weight != 0) weight = std::ldexp(weight, -std::ilogb(most[weight > 0]));
  return area_of(samples);
}

GRADUAL_ONCE void refuse_roc_auc(std::size_t scores, std::size_t others, const char* what) {
  throw DataError("roc_auc: " + std::to_string(scores) + " scores, " + std::to_string(others) + " " + what);
}
GRADUAL_ONCE void refuse_roc_auc(std::size_t sample, double score, double label, double weight) {
  throw DataError("roc_auc: sample " + std::to_string(sample) + ": " +
                  (score != score             ? "a score that is NaN"
                   : label != 0 && label != 1 ? "label " + brief_text(label) + ", which is not 0 or 1"
                                              : "a weight of " + brief_text(weight)));
}

}  // namespace gradual::detail
