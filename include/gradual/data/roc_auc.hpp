#pragma once
#include <cstdint>

#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
/// Computes the area from scores and weights; sorts them. Weights in double are scaled too.
double roc_auc(ScoredSamples<std::int64_t>& samples);
double roc_auc(ScoredSamples<double>& samples);
}  // namespace detail

/// Returns the area under the receiver operating characteristic: the share of pairs of a positive and a negative sample in
/// which the positive has the larger score; equal scores count one half (Mann & Whitney 1947). One score per sample and a label
/// of 0 or 1, as numbers of any type. Exact, in O(n log n). NaN if no sample is positive, or none negative.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double roc_auc(const Scores& scores, const Labels& labels) {
  auto samples = detail::scored_samples<std::int64_t>("roc_auc", scores, labels, [](std::size_t) { return 1; });
  return detail::roc_auc(samples);
}
/// The same with a weight of at least 0 per sample; a pair weighs the product of its two. In double, like scikit-learn's
/// `sample_weight`. NaN also if all positive samples, or all negative ones, have a weight of 0. Errors: also DataError for
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
