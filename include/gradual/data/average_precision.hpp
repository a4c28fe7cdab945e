#pragma once
#include <gradual/data/scored_samples.hpp>

namespace gradual {

namespace detail {
/// Computes the area; sorts the samples and scales their weights.
double average_precision(ScoredSamples<double>& samples);
}  // namespace detail

/// Returns the area under the precision-recall curve, like scikit-learn's `average_precision_score`: the mean, over the
/// positive samples, of the precision when all samples that score at least as high are predicted positive. Scores without
/// information give the share of positives. Takes a score and a label of 0 or 1 per sample, numbers of any type, in O(n log n).
/// NaN if no sample is positive.
/// Errors: DataError for different numbers of scores and labels, a score that is NaN or another label.
template <class Scores, class Labels>
double average_precision(const Scores& scores, const Labels& labels) {
  auto samples = detail::scored_samples<double>("average_precision", scores, labels, [](std::size_t) { return 1.0; });
  return detail::average_precision(samples);
}
/// The same with a weight of at least 0 per sample. NaN also if all positive samples have a weight of 0. Errors: also DataError
/// for a different number of weights, or one that is negative, infinite or NaN.
template <class Scores, class Labels, class Weights>
double average_precision(const Scores& scores, const Labels& labels, const Weights& weights) {
  auto samples = detail::weighted_samples("average_precision", scores, labels, weights);
  return detail::average_precision(samples);
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/data/average_precision.ipp>
#endif
