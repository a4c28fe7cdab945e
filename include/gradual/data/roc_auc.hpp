#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace gradual {

namespace detail {
double roc_auc(std::vector<std::pair<double, bool>>& samples);
[[noreturn, gnu::cold]] void refuse_roc_auc(std::size_t scores, std::size_t labels);
[[noreturn, gnu::cold]] void refuse_roc_auc(std::size_t sample, double score, double label);
}  // namespace detail

/// The area under the receiver operating characteristic: the share of pairs of a positive and a negative sample of which the
/// positive has the larger score, where equal ones count one half (Mann & Whitney 1947). One score for each sample, and a label
/// that is 0 or 1, as numbers of any type. Exact, in O(n log n). NaN where no sample is positive, or none negative.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double roc_auc(const Scores& scores, const Labels& labels) {
  if (std::size(scores) != std::size(labels)) detail::refuse_roc_auc(std::size(scores), std::size(labels));
  std::vector<std::pair<double, bool>> samples;
  samples.reserve(std::size(scores));
  for (std::size_t i = 0; i < std::size(scores); ++i) {
    const auto score = static_cast<double>(scores[i]), label = static_cast<double>(labels[i]);
    if (score != score || (label != 0 && label != 1)) detail::refuse_roc_auc(i, score, label);
    samples.emplace_back(score, label == 1);
  }
  return detail::roc_auc(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/roc_auc.ipp>
#endif
