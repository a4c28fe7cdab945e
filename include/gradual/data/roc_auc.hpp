#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace gradual {

namespace detail {
/// Computes the area from scores and weights, below 0 for negative samples; sorts them. Weights in double are scaled too.
double roc_auc(std::vector<std::pair<double, std::int64_t>>& samples);
double roc_auc(std::vector<std::pair<double, double>>& samples);
[[noreturn, gnu::cold]] void refuse_roc_auc(std::size_t scores, std::size_t others, const char* what);
[[noreturn, gnu::cold]] void refuse_roc_auc(std::size_t sample, double score, double label, double weight);

template <class Weight, class Scores, class Labels, class WeightOf>
double roc_auc_of(const Scores& scores, const Labels& labels, WeightOf weight_of) {
  if (std::size(scores) != std::size(labels)) refuse_roc_auc(std::size(scores), std::size(labels), "labels");
  std::vector<std::pair<double, Weight>> samples;
  samples.reserve(std::size(scores));
  for (std::size_t i = 0; i < std::size(scores); ++i) {
    const auto score = static_cast<double>(scores[i]), label = static_cast<double>(labels[i]);
    const Weight weight = weight_of(i);
    if (score != score || (label != 0 && label != 1) || !(weight >= 0 && weight - weight == 0))
      refuse_roc_auc(i, score, label, static_cast<double>(weight));
    samples.emplace_back(score, label == 1 ? weight : -weight);
  }
  return roc_auc(samples);
}
}  // namespace detail

/// Returns the area under the receiver operating characteristic: the share of pairs of a positive and a negative sample in
/// which the positive has the larger score; equal scores count one half (Mann & Whitney 1947). One score per sample and a label
/// of 0 or 1, as numbers of any type. Exact, in O(n log n). NaN if no sample is positive, or none negative.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double roc_auc(const Scores& scores, const Labels& labels) {
  return detail::roc_auc_of<std::int64_t>(scores, labels, [](std::size_t) { return 1; });
}
/// The same with a weight of at least 0 per sample; a pair weighs the product of its two. In double, like scikit-learn's
/// `sample_weight`. NaN also if all positive samples, or all negative ones, have a weight of 0. Errors: also DataError for
/// another number of weights, or one that is negative, infinite or NaN.
template <class Scores, class Labels, class Weights>
double roc_auc(const Scores& scores, const Labels& labels, const Weights& weights) {
  if (std::size(scores) != std::size(weights)) detail::refuse_roc_auc(std::size(scores), std::size(weights), "weights");
  return detail::roc_auc_of<double>(scores, labels, [&](std::size_t i) { return static_cast<double>(weights[i]); });
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/roc_auc.ipp>
#endif
