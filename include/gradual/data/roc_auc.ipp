#pragma once
#include <gradual/data/roc_auc.hpp>

#include <algorithm>
#include <string>

#include <gradual/core/brief_text.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/math/bits.hpp>

namespace gradual::detail {

GRADUAL_ONCE double roc_auc(std::vector<std::pair<double, bool>>& samples) {
  std::ranges::sort(samples, {}, &std::pair<double, bool>::first);
  std::int64_t positives = 0, negatives = 0, twice_won = 0;
  for (auto at = samples.begin(); at != samples.end();) {
    std::int64_t ties[2]{};  // of negatives, and of positives
    for (const double score = at->first; at != samples.end() && at->first == score; ++at) ++ties[at->second];
    twice_won += ties[1] * (2 * negatives + ties[0]);
    negatives += ties[0], positives += ties[1];
  }
  if (positives == 0 || negatives == 0) return math::quiet_nan<double>();
  return static_cast<double>(twice_won) / (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

GRADUAL_ONCE void refuse_roc_auc(std::size_t scores, std::size_t labels) {
  throw DataError("roc_auc: " + std::to_string(scores) + " scores, " + std::to_string(labels) + " labels");
}
GRADUAL_ONCE void refuse_roc_auc(std::size_t sample, double score, double label) {
  throw DataError("roc_auc: sample " + std::to_string(sample) + ": " +
                  (score != score ? "a score that is NaN" : "label " + brief_text(label) + ", which is not 0 or 1"));
}

}  // namespace gradual::detail
