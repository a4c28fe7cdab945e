#pragma once
#include <cstdint>

#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
/// Sorts them. Weights in double are scaled too.
double roc_auc(ScoredSamples<std::int64_t>& samples);
double roc_auc(ScoredSamples<double>& samples);
}  // namespace detail

/// The area under the receiver operating characteristic: the share of pairs of a positive and a negative sample of which the
/// positive has the larger score, where equal ones count one half (Mann & Whitney 1947). One score for each sample, and a label
/// that is 0 or 1, as numbers of any type. Exact, in O(n log n). NaN where no sample is positive, or none negative.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double roc_auc(const Scores& scores, const Labels& labels) {
  auto samples = detail::scored_samples<std::int64_t>("roc_auc", scores, labels, [](std::size_t) { return 1; });
  return detail::roc_auc(samples);
}
/// The same where each sample has a weight of 0 or more, and each pair the product of its two: in double, as scikit-learn's
/// `sample_weight`. NaN also where all positive samples, or all negative ones, have a weight of 0. Errors: also DataError for
/// another number of weights, or one that is negative, infinite or NaN.
template <class Scores, class Labels, class Weights>
double roc_auc(const Scores& scores, const Labels& labels, const Weights& weights) {
  auto samples = detail::weighted_samples("roc_auc", scores, labels, weights);
  return detail::roc_auc(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/roc_auc.ipp>
#endif
