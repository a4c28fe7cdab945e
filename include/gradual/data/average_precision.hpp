#pragma once
#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
/// Sorts them, and scales their weights.
double average_precision(ScoredSamples<double>& samples);
}  // namespace detail

/// The area under the curve of precision by recall, as of scikit-learn's `average_precision_score`: the mean over positive
/// samples of the precision where all that score as high or higher are taken for positive. A score that tells nothing has the
/// share of positives. One score for each sample, and a label that is 0 or 1, as numbers of any type; in O(n log n). NaN where
/// no sample is positive.
/// Errors: DataError for another number of scores than labels, a score that is NaN or another label.
template <class Scores, class Labels>
double average_precision(const Scores& scores, const Labels& labels) {
  auto samples = detail::scored_samples<double>("average_precision", scores, labels, [](std::size_t) { return 1.0; });
  return detail::average_precision(samples);
}
/// The same where each sample has a weight of 0 or more. NaN also where all positive samples have a weight of 0. Errors: also
/// DataError for another number of weights, or one that is negative, infinite or NaN.
template <class Scores, class Labels, class Weights>
double average_precision(const Scores& scores, const Labels& labels, const Weights& weights) {
  auto samples = detail::weighted_samples("average_precision", scores, labels, weights);
  return detail::average_precision(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/average_precision.ipp>
#endif
